/* Fires a few known events on two threads, for test.sh to find in the trace. Prints what it did as
 * "event trace_id_high trace_id_low span_id vtid" lines, which the trace must show in that order.
 * Not a measurement: see cost.c. */
#include "slowpath_spans.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HIGH UINT64_C(0xfedcba9876543210)
#define LOW UINT64_C(0x0000000000000001)

static void say(const char *event, uint64_t high, uint64_t low, uint64_t span)
{
    printf("%s %" PRIx64 " %" PRIx64 " %" PRIx64 " %ld\n", event, high, low, span, syscall(SYS_gettid));
}

static void *other_thread(void *unused)
{
    slowpath_span_attach(HIGH, LOW, UINT64_MAX);
    say("attach", HIGH, LOW, UINT64_MAX);
    slowpath_span_detach(HIGH, LOW, UINT64_MAX);
    say("detach", HIGH, LOW, UINT64_MAX);
    return unused;
}

int main(void)
{
    pthread_t thread;
    for (int event = SLOWPATH_SPAN_START; event <= SLOWPATH_SPAN_DETACH; event++)
        if (!*slowpath_span_switch(event) != !slowpath_span_recording())
            return fprintf(stderr, "the switch of event %d and slowpath_span_recording differ\n", event), 1;
    if (slowpath_span_switch(-1) || slowpath_span_switch(4))
        return fprintf(stderr, "a number that is no event has a switch\n"), 1;
    fprintf(stderr, "recording: %s\n", slowpath_span_recording() ? "yes" : "no");
    slowpath_span_start(HIGH, LOW, UINT64_MAX);
    say("start_span", HIGH, LOW, UINT64_MAX);
    if (pthread_create(&thread, NULL, other_thread, NULL) || pthread_join(thread, NULL))
        return perror("pthread"), 1;
    slowpath_span_end(HIGH, LOW, UINT64_MAX);
    say("end_span", HIGH, LOW, UINT64_MAX);
    return 0;
}
