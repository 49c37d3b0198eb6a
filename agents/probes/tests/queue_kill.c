/* Processes that push into queues in one shared memory, and are killed (SIGKILL) at any moment, again and again, while others
 * read and are killed, too. Not how the product uses it, where each process has a memory of its own: it is to show that
 * nobody's death at any step harms the others.   queue_kill SECONDS
 *
 * Every number pushed is counted by its producer in shared memory before and after the push, and every number delivered is
 * marked by its consumer. So at the end: none is marked twice, none is torn, and stored = taken + lost + waiting, where what
 * the dead had in their hands may be missing: one record for each of them. */
#define _GNU_SOURCE
#include "../queue.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SLOTS_LOG2 = 4, SLOTS = 1 << SLOTS_LOG2, LIVES = 4096, PRODUCERS = 6, CONSUMERS = 2 };
enum { NUMBERS = 1u << 31 }; /* of all lives together: one bit each for delivered */

static struct shared {
    _Alignas(128) struct slowpath_probes_node nodes[SLOTS + LIVES];
    union {
        struct slowpath_probes_queue queue;
        char bytes[sizeof(struct slowpath_probes_queue) + SLOTS * 8];
    };
    int stop;
    uint64_t next_number, begun, pushed, taken, marked, torn, twice, out_of_numbers;
    uint64_t delivered[NUMBERS / 64];
} *shared;

static uint64_t add(uint64_t *to, uint64_t value)
{
    return __atomic_fetch_add(to, value, __ATOMIC_SEQ_CST);
}

static struct queue queue(void)
{
    return (struct queue){&shared->queue, shared->nodes, 0, SLOTS_LOG2, SLOTS + LIVES};
}

/* Numbers are drawn in blocks, so that this does not hide what the queue does. */
static void produce(uint32_t spare)
{
    struct queue to = queue();
    while (!__atomic_load_n(&shared->stop, __ATOMIC_RELAXED)) {
        uint64_t number = add(&shared->next_number, 64);
        if (number + 64 > NUMBERS) {
            add(&shared->out_of_numbers, 1);
            return;
        }
        for (uint64_t end = number + 64; number < end; number++) {
            struct queue_record record = {.timestamp = number, .field_count = 6};
            for (unsigned field = 0; field < 6; field++)
                record.fields[field] = number * (field + 2);
            add(&shared->begun, 1);
            queue_write_node(&shared->nodes[spare], &record);
            uint32_t displaced = queue_push(&to, spare);
            add(&shared->pushed, displaced != spare); /* it may give up */
            spare = displaced;
        }
    }
}

static bool take(void)
{
    struct queue from = queue();
    struct slowpath_probes_node node;
    if (!queue_take(&from, &node))
        return false;
    add(&shared->taken, 1);
    bool whole = node.timestamp < NUMBERS && node.field_count == 6;
    for (unsigned field = 0; whole && field < 6; field++)
        whole = node.fields[field] == node.timestamp * (field + 2);
    if (!whole) {
        add(&shared->torn, 1);
        return true;
    }
    uint64_t bit = 1ull << node.timestamp % 64;
    if (__atomic_fetch_or(&shared->delivered[node.timestamp / 64], bit, __ATOMIC_SEQ_CST) & bit)
        add(&shared->twice, 1);
    add(&shared->marked, 1);
    return true;
}

static pid_t begin(uint32_t life, bool consumer)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    if (consumer) {
        while (!__atomic_load_n(&shared->stop, __ATOMIC_RELAXED))
            take();
    } else {
        produce(SLOTS + life);
    }
    _exit(0);
}

int main(int count, char **arguments)
{
    if (count != 2)
        return 2;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    pid_t children[PRODUCERS + CONSUMERS];
    uint32_t life = 0;
    uint64_t dead_producers = 0, dead_consumers = 0;
    time_t end = time(NULL) + atoi(arguments[1]);
    srand(1);
    for (int index = 0; index < PRODUCERS + CONSUMERS; index++)
        children[index] = begin(life++, index >= PRODUCERS);
    while (time(NULL) < end && life < LIVES && !shared->out_of_numbers) {
        int victim = rand() % (PRODUCERS + CONSUMERS);
        usleep((useconds_t)(rand() % 3000));
        kill(children[victim], SIGKILL);
        waitpid(children[victim], NULL, 0);
        *(victim < PRODUCERS ? &dead_producers : &dead_consumers) += 1;
        children[victim] = begin(life++, victim >= PRODUCERS);
    }
    __atomic_store_n(&shared->stop, 1, __ATOMIC_SEQ_CST);
    for (int index = 0; index < PRODUCERS + CONSUMERS; index++)
        waitpid(children[index], NULL, 0);
    while (take()) {
    }
    struct queue all = queue();
    struct queue_counts counts = {0};
    queue_count(&all, &counts);
    printf("%llu producers and %llu consumers killed; %llu pushed, %llu delivered, %llu sacrificed, %llu torn, %llu twice\n",
           (unsigned long long)dead_producers, (unsigned long long)dead_consumers, (unsigned long long)counts.published,
           (unsigned long long)shared->marked, (unsigned long long)counts.sacrificed, (unsigned long long)shared->torn,
           (unsigned long long)shared->twice);
    bool sound = shared->torn == 0 && shared->twice == 0 && counts.waiting == 0 && counts.taken > 1000 &&
                 counts.published == counts.taken + counts.sacrificed &&
                 counts.published >= shared->pushed && counts.published <= shared->pushed + dead_producers &&
                 counts.published <= shared->begun && counts.taken >= shared->marked &&
                 counts.taken <= shared->marked + dead_consumers && dead_producers > 10 && dead_consumers > 0;
    if (!sound)
        printf("FAILED: the numbers do not add up\n");
    return sound ? 0 : 1;
}
