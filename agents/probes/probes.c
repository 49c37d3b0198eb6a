/* The probes: what is measured at begin and end of the enclosed code, and what becomes of it: a record in the queue of
 * the processor and the type, and an event of LTTng where one is recorded. Reached only while a probe is on (or for
 * the first time); never blocks, and fails silently, as we are a guest. How often a probe makes a record is counted
 * by each thread for itself, so that no two threads write to one cache line but in a queue. */
#define _GNU_SOURCE
#include "slowpath_probes.h"

#include "clock.h"
#include "counters.h"
#include "events.h"
#include "memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#define HAVE_RSEQ 1
#endif

#define EXPORTED __attribute__((visibility("default")))
#define UNLIKELY(condition) __builtin_expect(condition, 0)

enum { FRAMES = 64 };

/* What a thread knows of a probe: executions and ticks since its last record, and ever. */
struct tally {
    uint64_t executions, ticks, all_executions, all_ticks;
};

struct frame {
    struct slowpath_probe *probe;
    struct slowpath_begun begun;
};

/* A thread that reached a probe that was on. Its pages are touched as its probes are. */
struct thread {
    uint32_t id, spare, depth;
    struct counter counters[ALL_COUNTERS];
    struct frame frames[FRAMES];
    struct tally tallies[SLOWPATH_PROBES_CAPACITY];
};

/* Everything that a record needs to find its queue, found once. */
static struct {
    struct slowpath_probes_header *header;
    struct slowpath_probes_node *nodes;
    const struct slowpath_probes_events *events;
    uint32_t clock, processors;
} here;

static const uint32_t off;
static __thread struct thread *this_thread __attribute__((tls_model("initial-exec")));
static pthread_key_t ends;
static bool ends_known;

static unsigned number_of(uint32_t type)
{
    return (unsigned)__builtin_ctz(type);
}

static uint64_t now(void)
{
    return clock_ticks(here.clock);
}

static void thread_ends(void *ended)
{
    struct thread *thread = ended;
    this_thread = NULL;
    counters_close(thread->counters);
    if (thread->spare != NO_SPARE)
        memory_give_spare(thread->spare);
    munmap(thread, sizeof *thread);
}

static __attribute__((noinline, cold)) struct thread *thread_begins(void)
{
    struct thread *thread =
        mmap(NULL, sizeof *thread, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (thread == MAP_FAILED)
        return NULL;
    thread->id = (uint32_t)syscall(SYS_gettid);
    thread->spare = memory_take_spare();
    this_thread = thread;
    if (ends_known)
        pthread_setspecific(ends, thread);
    return thread;
}

static inline struct thread *self(void)
{
    return __builtin_expect(this_thread != NULL, 1) ? this_thread : thread_begins();
}

/* The thread that forked goes on in the child as another thread, which has begun nothing. */
void probes_forget_parent(void)
{
    if (!this_thread)
        return;
    counters_close(this_thread->counters);
    memset(this_thread->tallies, 0, sizeof this_thread->tallies);
    this_thread->id = (uint32_t)syscall(SYS_gettid);
    this_thread->spare = here.header->spares ? memory_take_spare() : NO_SPARE;
}

/* LTTng-UST starts threads of its own in the process, hence the way to forbid it. */
static const struct slowpath_probes_events *load_events(void)
{
    static const char name[] = "libslowpath_probes_lttng.so";
    char beside[PATH_MAX];
    Dl_info we;
    const char *wanted = secure_getenv("SLOWPATH_PROBES_LTTNG");
    if (wanted && strcmp(wanted, "0") == 0)
        return NULL;
    void *library = NULL;
    const char *slash = dladdr(&off, &we) && we.dli_fname ? strrchr(we.dli_fname, '/') : NULL;
    if (slash && snprintf(beside, sizeof beside, "%.*s/%s", (int)(slash - we.dli_fname), we.dli_fname, name) <
                     (int)sizeof beside)
        library = dlopen(beside, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        memory_say("no LTTng events: %s", dlerror());
    return library ? dlsym(library, SLOWPATH_PROBES_EVENTS_SYMBOL) : NULL;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void prepare(void)
{
    here.header = memory_of_this_process();
    here.nodes = view_nodes(here.header);
    here.clock = here.header->clock;
    here.processors = here.header->processors;
    ends_known = pthread_key_create(&ends, thread_ends) == 0;
    here.events = load_events();
}

static __attribute__((constructor)) void begin(void)
{
    pthread_once(&once, prepare);
}

/* A plugin with the static library in it may be unloaded before its threads end, which would call what is no longer there. */
static __attribute__((destructor)) void end(void)
{
    if (ends_known)
        pthread_key_delete(ends);
}

/* Gives the probe its place in the table. Two threads may do so at once, with the same result. */
static __attribute__((noinline, cold)) void register_probe(struct slowpath_probe *probe)
{
    pthread_once(&once, prepare);
    struct slowpath_probes_entry *entry = view_entry(here.header, number_of(probe->type), probe->id);
    if (!entry) {
        __atomic_fetch_add(&here.header->probes_refused, 1, __ATOMIC_RELAXED);
        __atomic_store_n(&probe->every, (const volatile uint32_t *)&off, __ATOMIC_RELEASE);
        return;
    }
    if (__atomic_load_n(&entry->written, __ATOMIC_RELAXED) == 0) {
        strncpy(entry->name, probe->name ? probe->name : "", sizeof entry->name - 1);
        __atomic_store_n(&entry->written, probe->written ? probe->written : 1, __ATOMIC_RELEASE);
    }
    probe->entry = (uint32_t)(entry - view_entries(here.header));
    __atomic_store_n(&probe->every, (const volatile uint32_t *)&entry->every, __ATOMIC_RELEASE);
}

/* How many executions make one record; 0: off. */
static inline uint64_t every_of(struct slowpath_probe *probe)
{
    const volatile uint32_t *at = __atomic_load_n(&probe->every, __ATOMIC_ACQUIRE);
    if (UNLIKELY(at == &probe->unregistered)) {
        register_probe(probe);
        at = __atomic_load_n(&probe->every, __ATOMIC_ACQUIRE);
    }
    uint32_t every = __atomic_load_n(at, __ATOMIC_RELAXED);
    return every == SLOWPATH_PROBES_AS_WRITTEN ? probe->written : every;
}

/* Where we run: only chooses the queue, so it may be wrong a moment later. */
static inline uint32_t processor(void)
{
#ifdef HAVE_RSEQ
    if (__rseq_size) {
        struct rseq *area = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
        int32_t registered = (int32_t)__atomic_load_n(&area->cpu_id, __ATOMIC_RELAXED);
        if (__builtin_expect(registered >= 0, 1))
            return (uint32_t)registered;
    }
#endif
    int processor = sched_getcpu();
    return processor < 0 ? 0 : (uint32_t)processor;
}

/* Nanoseconds of a duration, for events of LTTng, whose readers do not know our clock. */
static uint64_t duration_ns(uint64_t ticks)
{
    uint64_t ticks_now, ns_now;
    clock_pair(here.clock, &ticks_now, &ns_now);
    return (uint64_t)clock_ns((int64_t)ticks, ticks_now - here.header->base_ticks, ns_now - here.header->base_ns);
}

static __attribute__((noinline, cold)) void tell_lttng(struct slowpath_probe *probe, struct queue_record *record)
{
    if (probe->type == SLOWPATH_LAT)
        record->fields[0] = duration_ns(record->fields[0]);
    if (probe->type == SLOWPATH_TPT) {
        record->fields[1] = duration_ns(record->fields[1]);
        record->fields[3] = duration_ns(record->fields[3]);
    }
    here.events->record(number_of(probe->type), probe->id, probe->name ? probe->name : "", record->fields,
                        record->field_count);
}

/* Stores the record, of which timestamp, fields and their count are there. */
static inline void store(struct slowpath_probe *probe, struct thread *thread, struct queue_record *record)
{
    uint32_t at = processor(), number = number_of(probe->type);
    record->thread = thread->id;
    record->type = probe->type;
    record->id = probe->id;
    record->processor = (uint16_t)at;
    if (UNLIKELY(thread->spare == NO_SPARE))
        thread->spare = memory_take_spare();
    uint32_t spare = thread->spare;
    if (__builtin_expect(spare != NO_SPARE, 1)) {
        struct queue queue = view_queue(here.header, number * here.processors + (at < here.processors ? at : at % here.processors));
        queue_write_node(&here.nodes[spare], record);
        thread->spare = queue_push(&queue, spare);
    }
    if (UNLIKELY(thread->spare == spare))
        __atomic_fetch_add(&here.header->refused, 1, __ATOMIC_RELAXED);
    if (UNLIKELY(here.events && *here.events->switches[number]))
        tell_lttng(probe, record);
}

static bool available(unsigned type, int error)
{
    if (error && !__atomic_load_n(&here.header->unavailable[type], __ATOMIC_RELAXED)) {
        __atomic_store_n(&here.header->unavailable[type], (uint32_t)error, __ATOMIC_RELAXED);
        memory_say("%s is not available here: %s", slowpath_type_names[type], strerror(error));
    }
    return !error;
}

/* What the type counts, as of now. */
static bool read_values(const struct slowpath_probe *probe, struct thread *thread, struct slowpath_begun *values)
{
    struct rusage usage;
    int error;
    switch (probe->type) {
    case SLOWPATH_LLC:
        error = counter_read(thread->counters, COUNTER_REFERENCES, &values->first);
        if (!error)
            error = counter_read(thread->counters, COUNTER_MISSES, &values->second);
        return available(number_of(SLOWPATH_LLC), error);
    case SLOWPATH_PERFCNTR:
        return available(number_of(SLOWPATH_PERFCNTR), counter_read(thread->counters, probe->pcid, &values->first));
    case SLOWPATH_FLT:
        getrusage(RUSAGE_THREAD, &usage);
        values->first = (uint64_t)usage.ru_minflt;
        values->second = (uint64_t)usage.ru_majflt;
        return true;
    case SLOWPATH_CTXSW:
        getrusage(RUSAGE_THREAD, &usage);
        values->first = (uint64_t)usage.ru_nvcsw;
        values->second = (uint64_t)usage.ru_nivcsw;
        return true;
    default:
        return false;
    }
}

EXPORTED int slowpath_probe_begin(struct slowpath_probe *probe, struct slowpath_begun *begun)
{
    uint64_t every = every_of(probe);
    struct thread *thread = every ? self() : NULL;
    if (!thread)
        return 0;
    struct tally *tally = &thread->tallies[probe->entry];
    begun->thread = thread->id;
    switch (probe->type) {
    case SLOWPATH_CNT:
        tally->all_executions++;
        return ++tally->executions >= every;
    case SLOWPATH_TPT:
        begun->first = now();
        return 1;
    default:
        if (++tally->executions < every)
            return 0;
        tally->executions = 0;
        if (probe->type != SLOWPATH_LAT)
            return read_values(probe, thread, begun);
        begun->first = now();
        return 1;
    }
}

EXPORTED void slowpath_probe_end(struct slowpath_probe *probe, struct slowpath_begun *begun)
{
    struct queue_record record = {.timestamp = now()}; /* first, as it ends what LAT and TPT measure */
    struct thread *thread = this_thread;
    if (!thread || begun->thread != thread->id)
        return;
    struct tally *tally = &thread->tallies[probe->entry];
    struct slowpath_begun ended;
    switch (probe->type) {
    case SLOWPATH_CNT:
        record.field_count = 2;
        record.fields[0] = tally->executions;
        record.fields[1] = tally->all_executions;
        tally->executions = 0;
        break;
    case SLOWPATH_LAT:
        record.field_count = 1;
        record.fields[0] = record.timestamp - begun->first;
        break;
    case SLOWPATH_TPT:
        tally->ticks += record.timestamp - begun->first;
        tally->all_ticks += record.timestamp - begun->first;
        tally->all_executions++;
        if (++tally->executions < every_of(probe))
            return;
        record.field_count = 4;
        record.fields[0] = tally->executions;
        record.fields[1] = tally->ticks;
        record.fields[2] = tally->all_executions;
        record.fields[3] = tally->all_ticks;
        tally->executions = tally->ticks = 0;
        break;
    default:
        if (!read_values(probe, thread, &ended))
            return;
        record.field_count = 2;
        record.fields[0] = probe->type == SLOWPATH_PERFCNTR ? probe->pcid : ended.first - begun->first;
        record.fields[1] = probe->type == SLOWPATH_PERFCNTR ? ended.first - begun->first : ended.second - begun->second;
        record.timestamp = now();
    }
    store(probe, thread, &record);
}

EXPORTED void slowpath_probe_snapshot(struct slowpath_probe *probe, const uint64_t *values, unsigned count)
{
    uint64_t every = every_of(probe);
    struct thread *thread = every ? self() : NULL;
    if (!thread || ++thread->tallies[probe->entry].executions < every)
        return;
    thread->tallies[probe->entry].executions = 0;
    struct queue_record record = {.timestamp = now()};
    record.field_count = (uint8_t)(count < SLOWPATH_PROBES_FIELDS ? count : SLOWPATH_PROBES_FIELDS);
    memcpy(record.fields, values, record.field_count * sizeof *values);
    store(probe, thread, &record);
}

EXPORTED int slowpath_set_perfcntr(unsigned pcid, uint32_t perf_type, uint64_t perf_config)
{
    int error = counter_set(pcid, perf_type, perf_config);
    return error ? -error : slowpath_probe_available(SLOWPATH_PERFCNTR, pcid);
}

EXPORTED int slowpath_probe_available(enum slowpath_probe_type type, unsigned pcid)
{
    pthread_once(&once, prepare);
    struct thread *thread = self();
    uint64_t value;
    int error = 0;
    if (!thread)
        return -ENOMEM;
    if (type == SLOWPATH_LLC)
        error = counter_read(thread->counters, COUNTER_MISSES, &value);
    if (type == SLOWPATH_PERFCNTR)
        error = pcid < COUNTERS ? counter_read(thread->counters, pcid, &value) : EINVAL;
    available(number_of(type), error);
    return -error;
}

EXPORTED struct slowpath_probe *slowpath_probe_new(uint16_t id, uint32_t type, uint32_t sc, uint8_t pcid, const char *name)
{
    struct slowpath_probe *probe = calloc(1, sizeof *probe);
    if (!probe || type == 0 || type & (type - 1) || type > SLOWPATH_SNAPSHOT) {
        free(probe);
        return NULL;
    }
    *probe = (struct slowpath_probe){&probe->unregistered, 1, type, sc, id, pcid, name ? strdup(name) : NULL, 0};
    register_probe(probe);
    return probe;
}

EXPORTED const volatile uint32_t *slowpath_probe_switch(struct slowpath_probe *probe)
{
    every_of(probe);
    return __atomic_load_n(&probe->every, __ATOMIC_ACQUIRE);
}

/* An `entered` is thread << 8 | depth, so that another thread's end is known as such. */
EXPORTED uint64_t slowpath_probe_enter(struct slowpath_probe *probe)
{
    struct thread *thread = every_of(probe) ? self() : NULL;
    if (!thread || thread->depth == FRAMES)
        return 0;
    struct frame *frame = &thread->frames[thread->depth];
    if (!slowpath_probe_begin(probe, &frame->begun))
        return 0;
    frame->probe = probe;
    return (uint64_t)thread->id << 8 | ++thread->depth;
}

EXPORTED void slowpath_probe_leave(struct slowpath_probe *probe, uint64_t entered)
{
    struct thread *thread = this_thread;
    uint32_t depth = entered & 0xff;
    if (!thread || entered >> 8 != thread->id || depth == 0 || depth > thread->depth)
        return;
    thread->depth = depth - 1; /* what was entered inside and never left is forgotten */
    if (thread->frames[depth - 1].probe == probe)
        slowpath_probe_end(probe, &thread->frames[depth - 1].begun);
}
