/* Threads that push into one small queue and threads that take from it, as fast as they can, for a second or two: what the
 * model checker's interleavings leave out, real processors and real memory order. Built with ThreadSanitizer, too.
 *   queue_stress PRODUCERS CONSUMERS MILLISECONDS
 * Each record at most once, whole, in its producer's order; delivered + sacrificed = pushed. A push that gives up as others
 * are always faster is told, keeps its node, and may be one in a thousand. */
#define _GNU_SOURCE
#include "../queue.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLOTS = 8, MOST = 16 };

static struct slowpath_probes_node nodes[SLOTS + MOST];
static union {
    struct slowpath_probes_queue shared;
    char bytes[sizeof(struct slowpath_probes_queue) + SLOTS * 8];
} memory;
static const struct queue queue = {&memory.shared, nodes, 0, 3, SLOTS + MOST};
static int stop;
static uint64_t pushed[MOST], refused[MOST];
static struct taken {
    uint64_t records, last[MOST];
} takens[MOST];

static void failed(const char *what)
{
    printf("FAILED: %s\n", what);
    exit(1);
}

static void *produce(void *number)
{
    uint32_t self = (uint32_t)(uintptr_t)number, spare = SLOTS + self;
    uint64_t sequence = 0;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        sequence++;
        struct queue_record record = {.timestamp = sequence, .thread = self, .type = ~self, .id = (uint16_t)sequence,
                                      .processor = (uint16_t)~sequence, .field_count = 6};
        for (unsigned field = 0; field < 6; field++)
            record.fields[field] = sequence * (field + 2) + self;
        queue_write_node(&nodes[spare], &record);
        uint32_t displaced = queue_push(&queue, spare);
        if (displaced == spare)
            refused[self]++;
        spare = displaced;
    }
    pushed[self] = sequence - refused[self];
    return NULL;
}

static bool take(struct taken *taken)
{
    struct slowpath_probes_node node;
    if (!queue_take(&queue, &node))
        return false;
    uint64_t sequence = node.timestamp;
    bool whole = node.thread < MOST && node.type == ~node.thread && node.id == (uint16_t)sequence &&
                 node.processor == (uint16_t)~sequence && node.field_count == 6;
    for (unsigned field = 0; whole && field < 6; field++)
        whole = node.fields[field] == sequence * (field + 2) + node.thread;
    if (!whole)
        failed("a torn record was delivered");
    if (sequence <= taken->last[node.thread])
        failed("a record was delivered twice, or late");
    taken->last[node.thread] = sequence;
    taken->records++;
    return true;
}

static void *consume(void *into)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
        take(into);
    return NULL;
}

int main(int count, char **arguments)
{
    if (count != 4)
        return 2;
    int producers = atoi(arguments[1]), consumers = atoi(arguments[2]);
    pthread_t threads[2 * MOST];
    for (int index = 0; index < producers; index++)
        pthread_create(&threads[index], NULL, produce, (void *)(uintptr_t)index);
    for (int index = 0; index < consumers; index++)
        pthread_create(&threads[producers + index], NULL, consume, &takens[index]);
    usleep((useconds_t)atoi(arguments[3]) * 1000);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int index = 0; index < producers + consumers; index++)
        pthread_join(threads[index], NULL);
    uint64_t all = 0, gave_up = 0, delivered = 0;
    struct taken rest = {0};
    while (take(&rest)) {
    }
    delivered = rest.records;
    for (int index = 0; index < MOST; index++) {
        all += pushed[index];
        gave_up += refused[index];
        delivered += takens[index].records;
    }
    struct queue_counts counts = {0};
    queue_count(&queue, &counts);
    if (counts.published != all || counts.taken != delivered || counts.taken + counts.sacrificed != all || counts.waiting)
        failed("delivered + sacrificed is not what was pushed");
    if (all == 0 || delivered == 0)
        failed("nothing happened");
    if (gave_up > all / 1000)
        failed("more than one push in a thousand gave up");
    printf("%d producers, %d consumers: %llu pushed, %llu refused, %llu delivered, %llu sacrificed, none torn\n", producers,
           consumers, (unsigned long long)all, (unsigned long long)gave_up, (unsigned long long)delivered,
           (unsigned long long)counts.sacrificed);
    return 0;
}
