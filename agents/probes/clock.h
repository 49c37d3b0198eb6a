/* The clock of timestamps and durations: a counter of the processor that runs evenly and is the same on all
 * processors, where the kernel trusts it so too, else CLOCK_MONOTONIC. And what its ticks are in
 * CLOCK_MONOTONIC, on which recordings of LTTng lie. Not the wall clock. */
#ifndef SLOWPATH_PROBES_CLOCK_H
#define SLOWPATH_PROBES_CLOCK_H

#include "slowpath_probes_format.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

static inline uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* x86's counter may differ between sockets or stop in sleep: the kernel checks that, and uses another clock then. */
static inline enum slowpath_clock clock_of_this_machine(void)
{
#if defined(__x86_64__) || defined(__i386__)
    unsigned a, b, c, d;
    char source[16] = "";
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
    if (file) {
        if (!fgets(source, sizeof source, file))
            source[0] = 0;
        fclose(file);
    }
    if (strcmp(source, "tsc\n") == 0 && __get_cpuid(0x80000007, &a, &b, &c, &d) && d & 1 << 8)
        return SLOWPATH_CLOCK_TSC;
#elif defined(__aarch64__)
    return SLOWPATH_CLOCK_CNTVCT;
#endif
    return SLOWPATH_CLOCK_MONOTONIC;
}

static inline uint64_t clock_ticks(uint32_t clock)
{
#if defined(__x86_64__) || defined(__i386__)
    if (__builtin_expect(clock == SLOWPATH_CLOCK_TSC, 1))
        return __rdtsc();
#elif defined(__aarch64__)
    if (__builtin_expect(clock == SLOWPATH_CLOCK_CNTVCT, 1)) {
        uint64_t ticks;
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
        return ticks;
    }
#endif
    return monotonic_ns();
}

/* What both clocks say at one moment: the closest of some tries. */
static inline void clock_pair(uint32_t clock, uint64_t *ticks, uint64_t *ns)
{
    uint64_t closest = 0;
    *ticks = *ns = 0;
    for (int attempt = 0; attempt < 5; attempt++) {
        uint64_t before = clock_ticks(clock), at = monotonic_ns(), after = clock_ticks(clock);
        if (attempt == 0 || after - before < closest) {
            closest = after - before;
            *ticks = clock == SLOWPATH_CLOCK_MONOTONIC ? at : before + closest / 2;
            *ns = at;
        }
    }
}

/* Nanoseconds that `ticks` last, by what passed between two pairs; for a point in time, add it to the first pair. */
static inline int64_t clock_ns(int64_t ticks, uint64_t passed_ticks, uint64_t passed_ns)
{
    return passed_ticks ? (int64_t)((__int128)ticks * (int64_t)passed_ns / (int64_t)passed_ticks) : 0;
}

#endif
