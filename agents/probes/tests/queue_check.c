/* Runs queue.h, the product's source, through every interleaving of its atomic steps on a tiny queue:
 * a model checker. Before each access to shared memory the running thread (a coroutine) stops; from each
 * state reached, the checker goes on with each thread in turn, or has it die there. States that were seen
 * before are not gone on from. Sequentially consistent: what weaker memory adds, queue.h argues, and
 * queue_stress.c and queue_kill.c try.
 *
 *   queue_check SLOTS_LOG2 DEATHS TAKES,… PUSHES,…    one number for each consumer and each producer
 *
 * Checked wherever all have ended: each record is delivered at most once, whole, and in its producer's
 * order; published = taken + sacrificed, where only what a dead thread had in its hands may be missing;
 * no node is in two places; and the queue still works, all of its slots. Built with MUTANT=1…4, the
 * algorithm is broken on purpose, and the checker must say so. */
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

static void stop_before(const volatile void *address);
static bool swapped(uint64_t *at, uint64_t *expected, uint64_t wanted);
#define QUEUE_LOAD(from) (stop_before(from), *(from))
#define QUEUE_LOAD_RELAXED(from) (stop_before(from), *(from))
#define QUEUE_STORE_RELAXED(to, value) (stop_before(to), (void)(STORED(to) ? *(to) = (value) : 0))
#define QUEUE_SWAP(at, expected, wanted) (stop_before(at), swapped(at, expected, wanted))
#define QUEUE_FENCE(order) ((void)0)
#if MUTANT == 3 /* nobody counts what was sacrificed before */
#define STORED(to) (sizeof *(to) != 8 || ((uintptr_t)(to) & 127) != 0)
#else
#define STORED(to) true
#endif
#include "../queue.h"

enum { MOST_SLOTS = 4, MOST_THREADS = 4, MOST_RECORDS = 8, STACK = 4096, NODES = MOST_SLOTS + MOST_THREADS + 1 };

/* One thread of the model. `jump` and `stack` are its whole local state. */
struct thread {
    jmp_buf jump;
    bool finished, dead;
    char *top_of_stack; /* below it, the stack has nothing that lives */
    uint32_t spare;
    int pushed, delivered[MOST_RECORDS], deliveries;
    _Alignas(64) char stack[STACK];
};

/* Everything that makes a state: saved, restored and compared as bytes. */
static struct state {
    _Alignas(128) struct slowpath_probes_node nodes[NODES];
    union {
        struct slowpath_probes_queue shared;
        char bytes[sizeof(struct slowpath_probes_queue) + MOST_SLOTS * 8];
    };
    int deaths;
    struct thread threads[MOST_THREADS];
} now;

static struct queue queue;
static int producers, consumers, thread_count, rounds[MOST_THREADS];
static jmp_buf checker;
static int running = -1; /* the thread that runs; -1: the checker itself, which never stops */
static uint64_t ends, states;

static void failed(const char *what)
{
    printf("FAILED: %s (after %llu states)\n", what, (unsigned long long)states);
    exit(1);
}

/* Of a record, two words are enough to see one torn: the steps on the others would only repeat these. */
static bool is_step(const volatile void *address)
{
    const char *at = (const char *)address, *nodes = (const char *)now.nodes;
    if (at < nodes || at >= nodes + sizeof now.nodes)
        return true;
    size_t offset = (size_t)(at - nodes) % sizeof *now.nodes;
    return offset == offsetof(struct slowpath_probes_node, sacrificed) ||
           offset == offsetof(struct slowpath_probes_node, timestamp) ||
           offset == offsetof(struct slowpath_probes_node, fields);
}

static __attribute__((noinline)) void stop_before(const volatile void *address)
{
    if (running < 0 || !is_step(address))
        return;
    struct thread *thread = &now.threads[running];
    thread->top_of_stack = (char *)__builtin_frame_address(0) - 256;
    if (!_setjmp(thread->jump))
        _longjmp(checker, 1);
}

static bool swapped(uint64_t *at, uint64_t *expected, uint64_t wanted)
{
    bool blind = false;
#if MUTANT == 1 /* a consumer does not look whether the record is still there */
    blind = (*expected & SLOWPATH_SLOT_FULL) && wanted == (*expected & ~SLOWPATH_SLOT_FULL) && at >= now.shared.words;
#elif MUTANT == 2 /* nor a producer whether the slot is as it was */
    blind = wanted & SLOWPATH_SLOT_FULL && at >= now.shared.words;
#endif
    if (!blind && *at != *expected) {
        *expected = *at;
        return false;
    }
    *at = wanted;
    return true;
}

static void push(int producer, int number, uint32_t *spare)
{
    uint64_t record = (uint64_t)producer * MOST_RECORDS + (uint64_t)number + 1;
    struct queue_record written = {.timestamp = record, .field_count = 1, .fields = {record * 1000}};
    queue_write_node(&now.nodes[*spare], &written);
    uint32_t displaced = queue_push(&queue, *spare);
    if (displaced == *spare)
        failed("a push gave up");
#if MUTANT == 4 /* the node is written again while it is in the queue */
    displaced = *spare;
#endif
    *spare = displaced;
}

/* Which record it is; fails if it is none that was ever pushed. */
static int whole(const struct slowpath_probes_node *record)
{
    if (record->fields[0] != record->timestamp * 1000 || record->timestamp == 0)
        failed("a torn record was delivered");
    return (int)record->timestamp - 1;
}

static void body(int self)
{
    struct thread *thread = &now.threads[self];
    for (int round = 0; round < rounds[self]; round++) {
        if (self < producers) {
            push(self, round, &thread->spare);
            thread->pushed++;
        } else {
            struct slowpath_probes_node record;
            memset(&record, 0, sizeof record);
            if (queue_take(&queue, &record))
                thread->delivered[thread->deliveries++] = whole(&record);
            memset(&record, 0, sizeof record); /* no two states that differ in nothing that lives */
        }
    }
    thread->finished = true;
    _longjmp(checker, 1);
}

static void run(int thread)
{
    if (!_setjmp(checker)) {
        running = thread;
        _longjmp(now.threads[thread].jump, 1);
    }
    running = -1;
}

static void check_order(const int *delivered, int deliveries, bool *seen)
{
    int last[MOST_THREADS + 1];
    memset(last, -1, sizeof last);
    for (int delivery = 0; delivery < deliveries; delivery++) {
        int record = delivered[delivery], producer = record / MOST_RECORDS;
        if (seen[record])
            failed("a record was delivered twice");
        seen[record] = true;
        if (record <= last[producer])
            failed("a consumer saw a producer's records in another order");
        last[producer] = record;
    }
}

static void check_end(void)
{
    bool seen[(MOST_THREADS + 1) * MOST_RECORDS] = {false}, in_use[NODES] = {false};
    int pushed = 0, dead_producers = 0, delivered = 0, dead_consumers = 0, rest[MOST_SLOTS + 1], rests = 0;
    int slots = 1 << queue.slots_log2;
    struct slowpath_probes_node record;
    ends++;
    for (int thread = 0; thread < thread_count; thread++) {
        check_order(now.threads[thread].delivered, now.threads[thread].deliveries, seen);
        pushed += now.threads[thread].pushed;
        delivered += now.threads[thread].deliveries;
        dead_producers += now.threads[thread].dead && thread < producers;
        dead_consumers += now.threads[thread].dead && thread >= producers;
    }
    while (queue_take(&queue, &record)) {
        if (rests == slots)
            failed("more records wait than there are slots");
        rest[rests++] = whole(&record);
    }
    check_order(rest, rests, seen);
    delivered += rests;
    struct queue_counts counts = {0};
    queue_count(&queue, &counts);
    if (counts.waiting != 0 || counts.published != counts.taken + counts.sacrificed)
        failed("the counts do not add up");
    int unknown = (int)counts.published - pushed;
    if (unknown < 0 || unknown > dead_producers)
        failed("published is not what producers pushed");
    unknown = (int)counts.taken - delivered;
    if (unknown < 0 || unknown > dead_consumers)
        failed("taken is not what consumers have");
    for (int slot = 0; slot < slots; slot++) {
        uint32_t node = queue_node(&queue, (uint64_t)slot, now.shared.words[slot]);
        if (node >= NODES || in_use[node])
            failed("a node is in two places");
        in_use[node] = true;
    }
    for (int producer = 0; producer < producers; producer++) {
        if (!now.threads[producer].dead && in_use[now.threads[producer].spare])
            failed("a node is in two places");
        in_use[now.threads[producer].spare] |= !now.threads[producer].dead;
    }
    uint32_t spare = NODES - 1;
    for (int number = 0; number < slots; number++)
        push(MOST_THREADS, number, &spare);
    for (int number = 0; number < slots; number++)
        if (!queue_take(&queue, &record) || whole(&record) != MOST_THREADS * MOST_RECORDS + number)
            failed("a slot cannot be used any more");
    if (queue_take(&queue, &record))
        failed("a record appeared from nowhere");
}

static uint64_t mixed(uint64_t hash, const void *bytes, size_t length)
{
    const uint64_t *words = bytes;
    for (size_t word = 0; word < length / 8; word++) {
        hash = (hash ^ words[word]) * 0x9e3779b97f4a7c15ull;
        hash ^= hash >> 29;
    }
    return hash;
}

static uint64_t hash_of_now(void)
{
    uint64_t hash = mixed(1, &now, offsetof(struct state, threads) & ~7ull);
    for (int index = 0; index < thread_count; index++) {
        struct thread *thread = &now.threads[index];
        bool ended = thread->finished || thread->dead;
        hash = mixed(hash, &(uint64_t[]){ended, thread->dead}, 16);
        hash = mixed(hash, &thread->spare, offsetof(struct thread, stack) - offsetof(struct thread, spare));
        if (ended)
            continue;
        hash = mixed(hash, thread->jump, sizeof(thread->jump[0].__jmpbuf));
        uintptr_t from = (uintptr_t)thread->top_of_stack & ~7ull;
        hash = mixed(hash, (void *)from, (uintptr_t)(thread->stack + STACK) - from);
    }
    return hash | 1;
}

static uint64_t *seen_states, seen_capacity = 1 << 20;

static bool is_new(uint64_t hash)
{
    if (states * 2 > seen_capacity) {
        uint64_t *old = seen_states, old_capacity = seen_capacity;
        seen_capacity *= 4;
        seen_states = calloc(seen_capacity, 8);
        for (uint64_t at = 0; at < old_capacity; at++)
            if (old[at]) {
                uint64_t to = old[at] % seen_capacity;
                while (seen_states[to])
                    to = (to + 1) % seen_capacity;
                seen_states[to] = old[at];
            }
        free(old);
    }
    uint64_t at = hash % seen_capacity;
    for (; seen_states[at]; at = (at + 1) % seen_capacity)
        if (seen_states[at] == hash)
            return false;
    seen_states[at] = hash;
    states++;
    return true;
}

static void explore(int deaths)
{
    if (!is_new(hash_of_now()))
        return;
    struct state *here = malloc(sizeof now);
    memcpy(here, &now, sizeof now);
    bool ended = true;
    for (int thread = 0; thread < thread_count; thread++) {
        if (here->threads[thread].finished || here->threads[thread].dead)
            continue;
        ended = false;
        run(thread);
        explore(deaths);
        memcpy(&now, here, sizeof now);
        if (now.deaths < deaths) {
            now.deaths++;
            now.threads[thread].dead = true;
            explore(deaths);
            memcpy(&now, here, sizeof now);
        }
    }
    if (ended) {
        check_end();
        memcpy(&now, here, sizeof now);
    }
    free(here);
}

static int numbers(char *list, int *into)
{
    int count = 0;
    for (char *number = strtok(list, ","); number; number = strtok(NULL, ","))
        into[count++] = atoi(number);
    return count;
}

int main(int argument_count, char **arguments)
{
    if (argument_count != 5)
        return 2;
    queue = (struct queue){&now.shared, now.nodes, 0, (uint32_t)atoi(arguments[1]), NODES};
    producers = numbers(arguments[4], rounds);
    consumers = numbers(arguments[3], rounds + producers);
    thread_count = producers + consumers;
    seen_states = calloc(seen_capacity, 8);
    for (int thread = 0; thread < thread_count; thread++) {
        /* Each coroutine runs on its own stack up to its first step. */
        static ucontext_t context, back;
        now.threads[thread].spare = (uint32_t)(MOST_SLOTS + thread);
        getcontext(&context);
        context.uc_stack.ss_sp = now.threads[thread].stack;
        context.uc_stack.ss_size = STACK;
        makecontext(&context, (void (*)(void))body, 1, thread);
        if (!_setjmp(checker)) {
            running = thread;
            swapcontext(&back, &context);
        }
        running = -1;
    }
    explore(atoi(arguments[2]));
    printf("%d slots, %d producers, %d consumers, %s deaths: %llu states, %llu ends, all sound\n",
           1 << queue.slots_log2, producers, consumers, arguments[2], (unsigned long long)states,
           (unsigned long long)ends);
    return 0;
}
