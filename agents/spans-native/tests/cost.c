/* Measures what a call costs the thread that makes it, in nanoseconds of its processor time, so that
 * a busy machine disturbs little: the best of many short rounds. Whether something records is up to
 * who starts it (bench.sh does both). Exits with 1 where the budget is exceeded: 150 ns recorded;
 * not recorded 2 ns more than a call that does nothing, or 2 ns in all for who reads the switch. */
#include "slowpath_spans.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 200
#define CALLS_PER_ROUND 5000

static double thread_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

static int ascending(const void *left, const void *right)
{
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

/* Loops of calls as an agent in C makes them: the loop's own cost is in the figure. */
#define LOOP_OF(name, call) \
    static void name(void) \
    { \
        for (uint64_t span_id = 1; span_id <= CALLS_PER_ROUND; span_id++) \
            call; \
    }
static __attribute__((noipa)) void nothing(uint64_t high, uint64_t low, uint64_t span)
{
    (void)high, (void)low, (void)span;
}
static void (*volatile do_nothing)(uint64_t, uint64_t, uint64_t) = nothing;
static const volatile int *start_switch;
static volatile int answer;
LOOP_OF(nothings, do_nothing(0x1111111111111111, 0x2222222222222222, span_id))
LOOP_OF(switched_starts, if (*start_switch) slowpath_span_start(0x1111111111111111, 0x2222222222222222, span_id))
LOOP_OF(starts, slowpath_span_start(0x1111111111111111, 0x2222222222222222, span_id))
LOOP_OF(ends, slowpath_span_end(0x1111111111111111, 0x2222222222222222, span_id))
LOOP_OF(attaches, slowpath_span_attach(0x1111111111111111, 0x2222222222222222, span_id))
LOOP_OF(detaches, slowpath_span_detach(0x1111111111111111, 0x2222222222222222, span_id))
LOOP_OF(questions, answer = slowpath_span_recording())

/* Prints the best and the median round in nanoseconds per call; returns the best. */
static double measure(const char *name, void (*loop)(void))
{
    static double rounds[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        double begin = thread_ns();
        loop();
        rounds[round] = (thread_ns() - begin) / CALLS_PER_ROUND;
        /* Lets the consumer daemon keep up: full buffers drop events, which is cheaper. */
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    qsort(rounds, ROUNDS, sizeof rounds[0], ascending);
    printf("  %-32s best %6.2f ns, median %6.2f ns\n", name, rounds[0], rounds[ROUNDS / 2]);
    return rounds[0];
}

int main(void)
{
    int recording = slowpath_span_recording();
    start_switch = slowpath_span_switch(SLOWPATH_SPAN_START);
    printf("%s\n", recording ? "recorded" : "not recorded");
    double empty_call = measure("a call that does nothing", nothings);
    double budget = recording ? 150 : empty_call + 2;
    int over = measure("slowpath_span_start", starts) > budget;
    over |= measure("slowpath_span_end", ends) > budget;
    over |= measure("slowpath_span_attach", attaches) > budget;
    over |= measure("slowpath_span_detach", detaches) > budget;
    over |= measure("switch, then slowpath_span_start", switched_starts) > (recording ? 150 : 2);
    over |= measure("slowpath_span_recording", questions) > empty_call + 2;
    if (over)
        fprintf(stderr, "cost: over the budget\n");
    return over;
}
