/* LTTng's part of the provider: the code that its macros make of provider.h. Nothing of ours. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "provider.h"
