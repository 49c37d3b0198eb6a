/* The calls by which an agent tells of spans: each fires one LTTng-UST event of provider
 * slowpath_span on the calling thread where a session records it, and costs a load and a branch
 * where none does. For agents of any language. Not a tracer: it keeps no span and sends nothing.
 *
 * A span is named by the two halves of its trace id, most significant first, and by its span id, as
 * W3C Trace Context writes them in hexadecimal. Every call may come from any thread at any time
 * (not from a signal handler); none blocks, allocates or fails. The library must stay loaded. */
#ifndef SLOWPATH_SPANS_H
#define SLOWPATH_SPANS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The span begins; it ends. */
void slowpath_span_start(uint64_t trace_id_high, uint64_t trace_id_low, uint64_t span_id);
void slowpath_span_end(uint64_t trace_id_high, uint64_t trace_id_low, uint64_t span_id);

/* From now on this thread works on the span; it does so no longer. Each attach has its detach on the
 * same thread, properly nested; the innermost span is what the thread works on. */
void slowpath_span_attach(uint64_t trace_id_high, uint64_t trace_id_low, uint64_t span_id);
void slowpath_span_detach(uint64_t trace_id_high, uint64_t trace_id_low, uint64_t span_id);

/* Nonzero while any session records any of the four events. */
int slowpath_span_recording(void);

/* For runtimes that know which span is current but not how that came about, because an event loop
 * resumes requests in any order: fires the detach and attach that lead from what this thread was told
 * to work on to this span; all ids zero: to none. Spans of one trace nest, those of two never overlap.
 * Not to be mixed with the two calls above on one thread. */
void slowpath_span_follow(uint64_t trace_id_high, uint64_t trace_id_low, uint64_t span_id);

/* Has all threads forget what they follow, without an event: for an agent that notices that a recording
 * began, as it told nothing while there was none, and in a forked child. */
void slowpath_span_forget(void);

/* The four events, by number. The numbers never change. */
enum slowpath_span_event {
    SLOWPATH_SPAN_START = 0,
    SLOWPATH_SPAN_END = 1,
    SLOWPATH_SPAN_ATTACH = 2,
    SLOWPATH_SPAN_DETACH = 3,
};

/* Where the switch of an event lies: nonzero while a session records that event. For runtimes whose
 * calls into C cost more than a load: they read it themselves, as a relaxed atomic, and call only
 * when it is on. Valid as long as the library is loaded; NULL for a number that is no event. */
const volatile int *slowpath_span_switch(int event);

#ifdef __cplusplus
}
#endif

#endif
