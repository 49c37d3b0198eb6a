/* The events of provider slowpath_transfers, as LTTng-UST wants them described. LTTng's macros include this file
 * several times, hence the unusual guard. No field holds what was transferred: names of the program's code and
 * endpoints without queries only. Process and thread come with the contexts vpid and vtid of the session. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER slowpath_transfers

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "provider.h"

#if !defined(SLOWPATH_TRANSFERS_PROVIDER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define SLOWPATH_TRANSFERS_PROVIDER_H

#include <lttng/tracepoint.h>
#include <stdint.h>

/* A remote object has arrived: the client's method, or the parser of its answer, is about to return it to the
 * application, on this thread.
 *   context     number of the place of the program and the endpoint, as in the report of the process */
LTTNG_UST_TRACEPOINT_EVENT(slowpath_transfers, received,
    LTTNG_UST_TP_ARGS(uint32_t, context),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint32_t, context, context)))

/* What the number of a context means. Told before the first `received` with it in a recording.
 *   context     the number
 *   by          how it was noticed: "RestTemplate"
 *   method      "GET"; empty: not known
 *   url         without query; "{}" or a name in braces where it names a single thing; empty: not known
 *   call_path   methods of the application, the outermost first, each "class.method(file:line)", a line each */
LTTNG_UST_TRACEPOINT_EVENT(slowpath_transfers, context,
    LTTNG_UST_TP_ARGS(uint32_t, context, const char *, by, const char *, method, const char *, url,
                      const char *, call_path),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(uint32_t, context, context)
        lttng_ust_field_string(by, by)
        lttng_ust_field_string(method, method)
        lttng_ust_field_string(url, url)
        lttng_ust_field_string(call_path, call_path)))

#endif

#include <lttng/tracepoint-event.h>
