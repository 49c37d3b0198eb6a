/* The clock of the batches: the processor's time stamp counter where the kernel itself relies on it (a third
 * of the cost of clock_gettime, which is most of what level lite costs), else CLOCK_MONOTONIC. Ticks are for
 * differences within a batch; not a time of day, and not to be compared between processes. */
#ifndef SLOWPATH_REDIS_TICKS_H
#define SLOWPATH_REDIS_TICKS_H

#include <stdint.h>
#include <time.h>

/* Set by ticks_calibrate, at safe points only. */
extern int ticks_are_of_processor;
extern double ns_per_tick;

static inline uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

static inline uint64_t ticks_now(void)
{
    return ticks_are_of_processor ? __builtin_ia32_rdtsc() : clock_ns(CLOCK_MONOTONIC);
}

static inline uint64_t ns_of_ticks(uint64_t ticks)
{
    return (uint64_t)((int64_t)ticks * ns_per_tick);
}

/* Compares both clocks; to be called now and then. 0: too early to tell, call again some milliseconds
 * later. */
int ticks_calibrate(void);

#endif
