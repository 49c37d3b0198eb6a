/* Probes for programs in C and C++: numbers that a program tells of itself while somebody outside asks
 * for them (slowpath-probes, slowpath explore), and that cost it a predicted branch while nobody does.
 * The C11 interface of libslowpath_probes; slowpath_probes.hpp wraps it for C++. Not a tracer: what is
 * made of the numbers, and which probes are on, is decided elsewhere.
 *
 *     LAT_PROBE_BEGIN(7, 1);          // probe 7: a record of each execution, while it is switched on
 *     answer(request);
 *     LAT_PROBE_END(7);
 *
 * An id is a number from 0 to 65535, or the name of a constant, which then is the probe's name, too; probes
 * of different types may share one. `sc`, the sub-sampling counter, says how many executions of a thread make
 * one record (1: each); it can be changed from outside. BEGIN declares variables: END belongs to the same
 * block, and both to one thread. Any thread may call a probe, a signal handler must not. None blocks, fails,
 * or allocates but on a thread's first record. */
#ifndef SLOWPATH_PROBES_H
#define SLOWPATH_PROBES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Types of probes, as a record has them: one bit. */
enum slowpath_probe_type {
    SLOWPATH_CNT = 1 << 0,
    SLOWPATH_LAT = 1 << 1,
    SLOWPATH_TPT = 1 << 2,
    SLOWPATH_LLC = 1 << 3,
    SLOWPATH_FLT = 1 << 4,
    SLOWPATH_CTXSW = 1 << 5,
    SLOWPATH_PERFCNTR = 1 << 6,
    SLOWPATH_SNAPSHOT = 1 << 7,
};

/* How often the enclosed code was executed. */
#define CNT_PROBE_BEGIN(id, sc) SLOWPATH_BEGIN(id, SLOWPATH_CNT, sc, 0, #id)
#define CNT_PROBE_END(id) SLOWPATH_END(id, SLOWPATH_CNT)

/* How long one execution took: ticks of the clock that the memory's header names. */
#define LAT_PROBE_BEGIN(id, sc) SLOWPATH_BEGIN(id, SLOWPATH_LAT, sc, 0, #id)
#define LAT_PROBE_END(id) SLOWPATH_END(id, SLOWPATH_LAT)

/* How often the code was executed, and the ticks that took together. Every execution is timed. */
#define TPT_PROBE_BEGIN(id, sc) SLOWPATH_BEGIN(id, SLOWPATH_TPT, sc, 0, #id)
#define TPT_PROBE_END(id) SLOWPATH_END(id, SLOWPATH_TPT)

/* References to and misses of the last-level cache, of this thread in user mode. */
#define LLC_PROBE_BEGIN(id, sc) SLOWPATH_BEGIN(id, SLOWPATH_LLC, sc, 0, #id)
#define LLC_PROBE_END(id) SLOWPATH_END(id, SLOWPATH_LLC)

/* Page faults of this thread: without and with I/O. */
#define FLT_PROBE_BEGIN(id, sc) SLOWPATH_BEGIN(id, SLOWPATH_FLT, sc, 0, #id)
#define FLT_PROBE_END(id) SLOWPATH_END(id, SLOWPATH_FLT)

/* Context switches of this thread: voluntary (it waited) and involuntary (it was preempted). */
#define CTXSW_PROBE_BEGIN(id, sc) SLOWPATH_BEGIN(id, SLOWPATH_CTXSW, sc, 0, #id)
#define CTXSW_PROBE_END(id) SLOWPATH_END(id, SLOWPATH_CTXSW)

/* What a performance counter of this thread counted, see SET_PERFCNTR. */
#define PERFCNTR_PROBE_BEGIN(id, sc, pcid) SLOWPATH_BEGIN(id, SLOWPATH_PERFCNTR, sc, pcid, #id)
#define PERFCNTR_PROBE_END(id) SLOWPATH_END(id, SLOWPATH_PERFCNTR)

/* One to six values of one's own, integers or what converts to them; evaluated only when it is on. */
#define SNAPSHOT_PROBE(id, sc, ...) \
    do { \
        SLOWPATH_SITE(slowpath_site, id, SLOWPATH_SNAPSHOT, sc, 0, #id); \
        if (SLOWPATH_IS_ON(slowpath_site)) { \
            const uint64_t slowpath_values[] = {SLOWPATH_VALUES(__VA_ARGS__)}; \
            slowpath_probe_snapshot(&slowpath_site, slowpath_values, sizeof slowpath_values / sizeof *slowpath_values); \
        } \
    } while (0)

/* Says what performance counter `pcid` (0 to 15) counts: event select and unit mask of the processor's manual,
 * in user mode. Returns 0, or a negative errno where the calling thread cannot have it: -ENOENT where the
 * processor (a virtual one, mostly) has no such counter, -EACCES or -EPERM where the kernel forbids it,
 * -EINVAL for a pcid that there is not. Probes of such a counter make no records. */
#define SET_PERFCNTR(pcid, event, mask) slowpath_set_perfcntr(pcid, 4 /* PERF_TYPE_RAW */, (uint64_t)(mask) << 8 | (event))

/* The same for any counter of perf_event_open(2), by its type and config. */
int slowpath_set_perfcntr(unsigned pcid, uint32_t perf_type, uint64_t perf_config);

/* Whether the calling thread can have values of this type: 0, or a negative errno as above. Types other than LLC
 * and PERFCNTR always can. With SLOWPATH_PROBES_VERBOSE=1 in the environment, reasons are told on stderr, too. */
int slowpath_probe_available(enum slowpath_probe_type type, unsigned pcid);

/* From here on: what the macros are made of, and what bindings of other languages call. */

/* A probe, as the program holds it. Must stay where it is for as long as the program runs. */
struct slowpath_probe {
    const volatile uint32_t *every; /* the switch: 0 is off */
    uint32_t unregistered;          /* what `every` points to at first: not 0 */
    uint32_t type, written;
    uint16_t id;
    uint8_t pcid;
    const char *name;
    uint32_t entry; /* its place in the table of probes */
};

/* Values at the beginning of an execution. */
struct slowpath_begun {
    uint64_t first, second;
    uint32_t thread; /* that began it: no other one can end it, nor a child that was forked meanwhile */
};

#define SLOWPATH_SITE(site, id, type, sc, pcid, name) \
    static struct slowpath_probe site = {&site.unregistered, 1, type, sc, id, pcid, name, 0}

/* Nonzero if the execution is to be ended by slowpath_probe_end. Call it only if SLOWPATH_IS_ON. */
int slowpath_probe_begin(struct slowpath_probe *probe, struct slowpath_begun *begun);
void slowpath_probe_end(struct slowpath_probe *probe, struct slowpath_begun *begun);
void slowpath_probe_snapshot(struct slowpath_probe *probe, const uint64_t *values, unsigned count);

/* A probe for as long as the process runs; the name is copied. NULL if there is no memory. */
struct slowpath_probe *slowpath_probe_new(uint16_t id, uint32_t type, uint32_t sc, uint8_t pcid, const char *name);
/* Its switch, to be read as a relaxed atomic before calls that cost more than that. */
const volatile uint32_t *slowpath_probe_switch(struct slowpath_probe *probe);
/* Begin and end for languages in which a structure is a burden: the thread keeps it. Returns 0 if there is nothing
 * to end. Properly nested, at most 64 deep; an end on another thread is ignored. */
uint64_t slowpath_probe_enter(struct slowpath_probe *probe);
void slowpath_probe_leave(struct slowpath_probe *probe, uint64_t entered);

/* Where the switch lies never changes but once, from `unregistered`; both loads are plain ones in machine code. */
#define SLOWPATH_IS_ON(probe) \
    __builtin_expect(__atomic_load_n(__atomic_load_n(&(probe).every, __ATOMIC_RELAXED), __ATOMIC_RELAXED) != 0, 0)

/* Names that belong to one probe of one block: pasted in two steps, so that an id may be a macro. */
#define SLOWPATH_NAME(prefix, type, id) SLOWPATH_NAME_(prefix, type, id)
#define SLOWPATH_NAME_(prefix, type, id) prefix##type##_##id
#define SLOWPATH_BEGIN(id, type, sc, pcid, name) \
    SLOWPATH_BEGIN_(SLOWPATH_NAME(site_, type, id), SLOWPATH_NAME(begun_, type, id), SLOWPATH_NAME(on_, type, id), \
                    id, type, sc, pcid, name)
#define SLOWPATH_BEGIN_(site, begun, on, id, type, sc, pcid, name) \
    SLOWPATH_SITE(site, id, type, sc, pcid, name); \
    struct slowpath_begun begun; \
    int on = 0; \
    if (SLOWPATH_IS_ON(site)) \
    on = slowpath_probe_begin(&site, &begun)
#define SLOWPATH_END(id, type) \
    do { \
        if (__builtin_expect(SLOWPATH_NAME(on_, type, id), 0)) \
            slowpath_probe_end(&SLOWPATH_NAME(site_, type, id), &SLOWPATH_NAME(begun_, type, id)); \
    } while (0)

#define SLOWPATH_VALUES(...) SLOWPATH_SEVENTH(__VA_ARGS__, SLOWPATH_V6, SLOWPATH_V5, SLOWPATH_V4, SLOWPATH_V3, \
                                              SLOWPATH_V2, SLOWPATH_V1, )(__VA_ARGS__)
#define SLOWPATH_SEVENTH(a, b, c, d, e, f, seventh, ...) seventh
#define SLOWPATH_V1(a) (uint64_t)(a)
#define SLOWPATH_V2(a, b) SLOWPATH_V1(a), SLOWPATH_V1(b)
#define SLOWPATH_V3(a, b, c) SLOWPATH_V2(a, b), SLOWPATH_V1(c)
#define SLOWPATH_V4(a, b, c, d) SLOWPATH_V3(a, b, c), SLOWPATH_V1(d)
#define SLOWPATH_V5(a, b, c, d, e) SLOWPATH_V4(a, b, c, d), SLOWPATH_V1(e)
#define SLOWPATH_V6(a, b, c, d, e, f) SLOWPATH_V5(a, b, c, d, e), SLOWPATH_V1(f)

#ifdef __cplusplus
}
#endif

#endif
