/* Performance counters of single threads. Each thread opens its own, on first use, and reads it without a system call
 * where the kernel lets it (rdpmc), else by read(2). Where there is none, the errno says why and is kept, so that a
 * probe does not ask the kernel each time. Knows nothing of probes. */
#define _GNU_SOURCE
#include "counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#endif

/* What each number counts; the last two are the LLC probe's. Generation 0: nothing. */
static struct setting {
    uint32_t type;
    uint64_t config;
    uint32_t generation;
} settings[ALL_COUNTERS] = {
    [COUNTER_REFERENCES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, 1},
    [COUNTER_MISSES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, 1},
};

/* To be called before the probes that read it are reached, as it is: a thread in between would see half of it. */
int counter_set(unsigned number, uint32_t perf_type, uint64_t perf_config)
{
    if (number >= COUNTERS)
        return EINVAL;
    __atomic_store_n(&settings[number].type, perf_type, __ATOMIC_RELAXED);
    __atomic_store_n(&settings[number].config, perf_config, __ATOMIC_RELAXED);
    __atomic_fetch_add(&settings[number].generation, 1, __ATOMIC_RELEASE);
    return 0;
}

static void close_one(struct counter *counter)
{
    if (counter->page)
        munmap(counter->page, 4096);
    if (counter->generation && !counter->unavailable)
        close(counter->descriptor);
    *counter = (struct counter){0};
}

void counters_close(struct counter *counters)
{
    for (unsigned number = 0; number < ALL_COUNTERS; number++)
        close_one(&counters[number]);
}

static void open_one(struct counter *counter, const struct setting *setting, uint32_t generation)
{
    struct perf_event_attr attributes = {
        .size = sizeof attributes,
        .type = __atomic_load_n(&setting->type, __ATOMIC_RELAXED),
        .config = __atomic_load_n(&setting->config, __ATOMIC_RELAXED),
        .exclude_kernel = 1, /* what an ordinary user may count */
        .exclude_hv = 1,
    };
    close_one(counter);
    counter->generation = generation;
    counter->descriptor = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (counter->descriptor < 0) {
        counter->unavailable = errno;
        return;
    }
    void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, counter->descriptor, 0);
    counter->page = page == MAP_FAILED ? NULL : page;
}

/* The kernel's page says how, and whether: perf_event_open(2), on cap_user_rdpmc. */
static bool read_in_user_space(struct counter *counter, uint64_t *value)
{
#if defined(__x86_64__) || defined(__i386__)
    volatile struct perf_event_mmap_page *page = counter->page;
    if (!page)
        return false;
    uint32_t lock;
    do {
        lock = page->lock;
        __asm__ volatile("" ::: "memory");
        uint32_t index = page->index;
        if (!page->cap_user_rdpmc || index == 0)
            return false;
        unsigned unused_bits = 64u - page->pmc_width;
        int64_t count = (int64_t)(__rdpmc((int)index - 1) << unused_bits) >> unused_bits;
        *value = (uint64_t)(page->offset + count);
        __asm__ volatile("" ::: "memory");
    } while (page->lock != lock);
    return true;
#else
    (void)counter, (void)value;
    return false;
#endif
}

int counter_read(struct counter *counters, unsigned number, uint64_t *value)
{
    struct counter *counter = &counters[number];
    uint32_t generation = __atomic_load_n(&settings[number].generation, __ATOMIC_ACQUIRE);
    if (generation == 0)
        return ENODATA;
    if (counter->generation != generation)
        open_one(counter, &settings[number], generation);
    if (counter->unavailable)
        return counter->unavailable;
    if (read_in_user_space(counter, value))
        return 0;
    return read(counter->descriptor, value, sizeof *value) == sizeof *value ? 0 : EIO;
}
