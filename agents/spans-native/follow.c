/* From "this span is current now" to attach and detach that nest: a small stack for each thread, of
 * spans of one trace. Serves the agents of event-driven runtimes, which see contexts appear in any
 * order. Not a record of contexts: only what the events have said so far. */
#include "slowpath_spans.h"

#define EXPORTED __attribute__((visibility("default")))

/* Deeper nesting than this is told as a change to the innermost span alone. */
#define MOST_NESTED 64

struct span {
    uint64_t trace_id_high, trace_id_low, span_id;
};

static __thread struct span attached[MOST_NESTED];
static __thread int depth;

/* Stacks of earlier recordings are worth nothing. */
static unsigned recordings;
static __thread unsigned of_recording;

/* The height of the stack with the span on top; 0 where it is not in it. */
static int height_of(uint64_t trace_id_high, uint64_t trace_id_low, uint64_t span_id)
{
    for (int height = depth; height > 0; height--) {
        const struct span *span = &attached[height - 1];
        if (span->span_id == span_id && span->trace_id_low == trace_id_low &&
            span->trace_id_high == trace_id_high)
            return height;
    }
    return 0;
}

static void detach_down_to(int height)
{
    while (depth > height) {
        const struct span *span = &attached[--depth];
        slowpath_span_detach(span->trace_id_high, span->trace_id_low, span->span_id);
    }
}

EXPORTED void slowpath_span_forget(void)
{
    __atomic_fetch_add(&recordings, 1, __ATOMIC_RELAXED);
}

EXPORTED void slowpath_span_follow(uint64_t trace_id_high, uint64_t trace_id_low, uint64_t span_id)
{
    unsigned recording = __atomic_load_n(&recordings, __ATOMIC_RELAXED);
    if (of_recording != recording) {
        of_recording = recording;
        depth = 0;
    }
    int height = height_of(trace_id_high, trace_id_low, span_id);
    if (height || !span_id) {
        detach_down_to(height);
        return;
    }
    if (depth == MOST_NESTED ||
        (depth && (attached[0].trace_id_high != trace_id_high || attached[0].trace_id_low != trace_id_low)))
        detach_down_to(0);
    attached[depth++] = (struct span){trace_id_high, trace_id_low, span_id};
    slowpath_span_attach(trace_id_high, trace_id_low, span_id);
}
