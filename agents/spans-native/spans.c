/* The calls of slowpath_spans.h. They exist so that agents load one small library by name and need
 * neither LTTng's headers nor its macros. Everything but these calls is hidden from the program
 * that we are a guest in. Holds no state: what a span is and where it is current, the agents know. */
#include "slowpath_spans.h"

#include <stddef.h>

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "provider.h"

#define EXPORTED __attribute__((visibility("default")))

/* LTTng changes this word from a thread of its own; a stale value only costs or spares one event. */
#define SWITCH(event) ((const volatile int *)&lttng_ust_tracepoint_slowpath_span___##event.state)

/* The way that records is a function apart, so that the other needs no stack frame: with one, a call
 * that records nothing costs twice as much. LTTng's macro looks at the switch once more there. */
#define SPAN_CALL(call, event) \
    static __attribute__((noinline, cold)) void record_##event(uint64_t trace_id_high, \
                                                               uint64_t trace_id_low, uint64_t span_id) \
    { \
        lttng_ust_tracepoint(slowpath_span, event, trace_id_high, trace_id_low, span_id); \
    } \
    EXPORTED void call(uint64_t trace_id_high, uint64_t trace_id_low, uint64_t span_id) \
    { \
        if (__builtin_expect(*SWITCH(event), 0)) \
            record_##event(trace_id_high, trace_id_low, span_id); \
    }

SPAN_CALL(slowpath_span_start, start_span)
SPAN_CALL(slowpath_span_end, end_span)
SPAN_CALL(slowpath_span_attach, attach)
SPAN_CALL(slowpath_span_detach, detach)

EXPORTED int slowpath_span_recording(void)
{
    return *SWITCH(start_span) | *SWITCH(end_span) | *SWITCH(attach) | *SWITCH(detach);
}

EXPORTED const volatile int *slowpath_span_switch(int event)
{
    switch (event) {
    case SLOWPATH_SPAN_START:
        return SWITCH(start_span);
    case SLOWPATH_SPAN_END:
        return SWITCH(end_span);
    case SLOWPATH_SPAN_ATTACH:
        return SWITCH(attach);
    case SLOWPATH_SPAN_DETACH:
        return SWITCH(detach);
    default:
        return NULL;
    }
}
