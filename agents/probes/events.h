/* How the library hands records on to LTTng-UST, where liblttng-ust is there: a second library beside it,
 * libslowpath_probes_lttng.so (events.c), is loaded by name and offers this one table. */
#ifndef SLOWPATH_PROBES_EVENTS_H
#define SLOWPATH_PROBES_EVENTS_H

#include "slowpath_probes_format.h"

struct slowpath_probes_events {
    /* By number of the type: nonzero while a recording has events of it. */
    const volatile int *switches[SLOWPATH_PROBES_TYPES];
    /* Durations among the fields are nanoseconds. */
    void (*record)(unsigned type, uint16_t id, const char *name, const uint64_t *fields, unsigned count);
};

#define SLOWPATH_PROBES_EVENTS_SYMBOL "slowpath_probes_events_1"

#endif
