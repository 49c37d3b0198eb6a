/* Finds out how fast the processor counts; see ticks.h. */
#define _GNU_SOURCE
#include "ticks.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Reading both clocks takes some 50 ns: over 10 ms, an error of 1 in 200,000. */
#define SHORTEST_NS 10000000

int ticks_are_of_processor;
double ns_per_tick = 1;

/* Then it counts at one speed, and alike on all processors: the kernel watches that. */
static int kernel_relies_on_counter(void)
{
    char name[16] = {0};
    int file = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    ssize_t length = read(file, name, sizeof name - 1);
    close(file);
    return length > 0 && !strcmp(name, "tsc\n");
}

int ticks_calibrate(void)
{
    static uint64_t first_ns, first_count;
    static int begun;
    if (!begun) {
        begun = 1;
        ticks_are_of_processor = kernel_relies_on_counter();
        first_ns = clock_ns(CLOCK_MONOTONIC);
        first_count = __builtin_ia32_rdtsc();
    }
    if (!ticks_are_of_processor)
        return 1;
    uint64_t ns = clock_ns(CLOCK_MONOTONIC) - first_ns;
    uint64_t count = __builtin_ia32_rdtsc() - first_count;
    if (ns < SHORTEST_NS || !count)
        return 0;
    ns_per_tick = (double)ns / (double)count;
    return 1;
}
