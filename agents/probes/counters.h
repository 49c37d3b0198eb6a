/* Performance counters of the calling thread, by perf_event_open(2) (counters.c). Inside the library only. */
#ifndef SLOWPATH_PROBES_COUNTERS_H
#define SLOWPATH_PROBES_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

enum { COUNTERS = 16, COUNTER_REFERENCES = COUNTERS, COUNTER_MISSES, ALL_COUNTERS };

/* A thread's own counter; all zero: not opened yet. */
struct counter {
    int descriptor;
    int unavailable; /* errno, or 0 */
    uint32_t generation; /* of the setting it was opened with; 0: not opened */
    void *page; /* the kernel's, by which user space may read the counter */
};

__attribute__((visibility("hidden"))) int counter_set(unsigned number, uint32_t perf_type, uint64_t perf_config);

/* What it counted so far. Returns 0 or an errno, which stays the same for this thread and setting. */
__attribute__((visibility("hidden"))) int counter_read(struct counter *counters, unsigned number, uint64_t *value);

__attribute__((visibility("hidden"))) void counters_close(struct counter *counters);

#endif
