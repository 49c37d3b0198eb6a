/* Records as events of LTTng-UST, provider slowpath_probe: the one part that needs liblttng-ust, hence a library of its own
 * that the other loads if it can (events.h). Holds no state and knows nothing of queues. */
#include "events.h"

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "provider.h"

/* LTTng changes this word from a thread of its own; a stale value only costs or spares one event. */
#define SWITCH(event) (const volatile int *)&lttng_ust_tracepoint_slowpath_probe___##event.state
#define FIRE(event) lttng_ust_tracepoint(slowpath_probe, event, id, name, fields, count)

static void record(unsigned type, uint16_t id, const char *name, const uint64_t *fields, unsigned count)
{
    switch (type) {
    case 0: FIRE(cnt); break;
    case 1: FIRE(lat); break;
    case 2: FIRE(tpt); break;
    case 3: FIRE(llc); break;
    case 4: FIRE(flt); break;
    case 5: FIRE(ctxsw); break;
    case 6: FIRE(perfcntr); break;
    case 7: FIRE(snapshot); break;
    }
}

__attribute__((visibility("default"))) const struct slowpath_probes_events slowpath_probes_events_1 = {
    .switches = {SWITCH(cnt), SWITCH(lat), SWITCH(tpt), SWITCH(llc), SWITCH(flt), SWITCH(ctxsw), SWITCH(perfcntr),
                 SWITCH(snapshot)},
    .record = record,
};
