/* A bounded queue of records in shared memory: any number of producers and consumers in any number of
 * processes, lock-free, and sound if any of them dies between any two of its steps. The oldest records
 * are sacrificed to new ones, and counted exactly. tests/queue_check.c runs this very source through
 * all interleavings. Not a general queue: its records are those of probes.
 *
 * WHERE THINGS ARE. A record is written into a *node*, 128 bytes. A queue has `slots` 64-bit words; the
 * word of a slot names the one node that is in it, the round of the ring in which it was put there, and
 * whether it waits to be taken (FULL). Each thread that produces owns one *spare* node besides.
 * Ticket t belongs to slot t % slots in round t / slots + 1. All memory zero is an empty queue, as a
 * word names its node relative to the slot's first one (exclusive or).
 *
 * PUSH. (1) Write the record into the spare node, which nobody else reads or writes. (2) Read the tail,
 * t, and the word of its slot. If that is of t's round already, somebody published there and did not
 * yet move the tail: move it for them, again from (2). (3) Note in the node how many records the slot
 * has sacrificed: as the node in the slot says, and one more if that is FULL. (4) Compare-and-swap the
 * word: now FULL, of t's round, naming our node. Failed: somebody was faster; again from (2).
 * (5) Move the tail to t + 1. The node that was in the slot is our spare from now on.
 *
 * TAKE. (1) Read the head, h, and the word of its slot. Of an earlier round: the queue is empty. Of a
 * later one: sacrificed, go on with the oldest ticket there can be. Of h's round but not FULL: somebody
 * took it, move the head and look again. (2) Copy the record. (3) Compare-and-swap the word to the same
 * without FULL. Failed: it was sacrificed or taken meanwhile; forget the copy. (4) Move the head.
 *
 * WHY IT IS SOUND
 *  I1 A slot's word changes by (4) of push, to the next round, and by (3) of take, from FULL to not
 *     FULL: never back, so a word that is equal never changed in between (2^39 rounds).
 *  I2 A node is in exactly one slot or the spare of exactly one thread; push swaps two of them in one
 *     step. So nobody writes a record that can be taken: none is ever torn, at whatever step a
 *     producer dies, and the ring never loses a slot. (The dead thread's spare is lost with it.)
 *  I3 A copy counts only if (3) succeeds; then, by I1, the node was in the slot all the while, and by
 *     I2 nobody wrote to it. FULL goes once: a record is delivered at most once.
 *  I4 A slot's word and `sacrificed` of its node change together, in (4), as the node was written
 *     before; so for each slot, at any moment and whoever died:
 *         round = records published in it = sacrificed + taken + (1 if FULL).
 *  I5 The tail is the number of records published, or one less while (5) is outstanding; whoever comes
 *     next makes up for it. The head only says where to look first.
 *  I6 A step is repeated only as another thread has made progress; and never without end.
 *
 * MEMORY ORDER. A word is read with acquire and swapped with acquire-release, so its node's content is
 * seen. The record that a displaced node had may be overwritten only after the swap is seen by those
 * who still copy it: hence the release fence after (4) of push, paired with the acquire fence before (3) of
 * take, as in a sequence lock; all words of a node are accessed as relaxed atomics. */
#ifndef SLOWPATH_PROBES_QUEUE_H
#define SLOWPATH_PROBES_QUEUE_H

#include "slowpath_probes_format.h"

#include <stdbool.h>

/* The checker defines these anew, to stop before each. */
#ifndef QUEUE_LOAD
#define QUEUE_LOAD(from) __atomic_load_n(from, __ATOMIC_ACQUIRE)
#define QUEUE_LOAD_RELAXED(from) __atomic_load_n(from, __ATOMIC_RELAXED)
#define QUEUE_STORE_RELAXED(to, value) __atomic_store_n(to, value, __ATOMIC_RELAXED)
#define QUEUE_SWAP(at, expected, wanted) \
    __atomic_compare_exchange_n(at, expected, wanted, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)
#ifdef __SANITIZE_THREAD__ /* which knows no fences, and needs none: all accesses are atomic */
#define QUEUE_FENCE(order) ((void)0)
#else
#define QUEUE_FENCE(order) __atomic_thread_fence(order)
#endif
#endif

/* A queue as its users hold it: where it is, and what its slots' words are relative to. */
struct queue {
    struct slowpath_probes_queue *shared;
    struct slowpath_probes_node *nodes; /* of the whole memory */
    uint32_t first_node;                /* of slot 0 at the very first */
    uint32_t slots_log2;
    uint32_t node_count; /* of the whole memory */
};

/* How often push tries before it gives up: in memory that something else damaged, or as others were faster each time, which
 * takes producers on several processors in one queue all the while (tests/queue_stress.c; probes do not do so). */
#define QUEUE_ATTEMPTS 1000

static inline uint64_t queue_round_of_word(uint64_t word)
{
    return word >> SLOWPATH_SLOT_ROUND_SHIFT;
}

static inline uint64_t queue_round_of_ticket(const struct queue *queue, uint64_t ticket)
{
    return (ticket >> queue->slots_log2) + 1;
}

static inline uint64_t queue_slot(const struct queue *queue, uint64_t ticket)
{
    return ticket & ((1ull << queue->slots_log2) - 1);
}

/* Within bounds, also in damaged memory. */
static inline uint32_t queue_node(const struct queue *queue, uint64_t slot, uint64_t word)
{
    uint32_t node = (uint32_t)((word ^ (queue->first_node + slot)) & SLOWPATH_SLOT_NODE_MASK);
    return node < queue->node_count ? node : queue->first_node;
}

/* Publishes the record in `node`, the caller's spare. Returns the node that is its spare from now on; the same one if it
 * gave up. */
static inline uint32_t queue_push(const struct queue *queue, uint32_t node)
{
    struct slowpath_probes_queue *shared = queue->shared;
    for (int attempt = 0; attempt < QUEUE_ATTEMPTS; attempt++) {
        uint64_t ticket = QUEUE_LOAD(&shared->tail);
        uint64_t next = ticket + 1;
        uint64_t slot = queue_slot(queue, ticket);
        uint64_t round = queue_round_of_ticket(queue, ticket);
        uint64_t word = QUEUE_LOAD(&shared->words[slot]);
        if (queue_round_of_word(word) + 1 != round) {
            if (queue_round_of_word(word) == round)
                QUEUE_SWAP(&shared->tail, &ticket, next);
            continue;
        }
        uint32_t displaced = queue_node(queue, slot, word);
        uint64_t sacrificed = QUEUE_LOAD_RELAXED(&queue->nodes[displaced].sacrificed);
        QUEUE_STORE_RELAXED(&queue->nodes[node].sacrificed, sacrificed + (word & SLOWPATH_SLOT_FULL ? 1 : 0));
        uint64_t wanted = round << SLOWPATH_SLOT_ROUND_SHIFT | SLOWPATH_SLOT_FULL | (node ^ (queue->first_node + slot));
        if (!QUEUE_SWAP(&shared->words[slot], &word, wanted))
            continue;
        QUEUE_FENCE(__ATOMIC_RELEASE);
        QUEUE_SWAP(&shared->tail, &ticket, next);
        return displaced;
    }
    return node;
}

/* A record as its producer has it. */
struct queue_record {
    uint64_t timestamp;
    uint32_t thread, type;
    uint16_t id, processor;
    uint8_t field_count;
    uint64_t fields[SLOWPATH_PROBES_FIELDS];
};

/* Step (1) of push. Fields past field_count keep what they were. */
static inline void queue_write_node(struct slowpath_probes_node *node, const struct queue_record *record)
{
    QUEUE_STORE_RELAXED(&node->timestamp, record->timestamp);
    QUEUE_STORE_RELAXED(&node->thread, record->thread);
    QUEUE_STORE_RELAXED(&node->type, record->type);
    QUEUE_STORE_RELAXED(&node->id, record->id);
    QUEUE_STORE_RELAXED(&node->processor, record->processor);
    QUEUE_STORE_RELAXED(&node->field_count, record->field_count);
    for (int field = 0; field < record->field_count; field++)
        QUEUE_STORE_RELAXED(&node->fields[field], record->fields[field]);
}

/* A node seen as words, whatever its members are. */
typedef uint64_t __attribute__((may_alias)) queue_word;

static inline void queue_copy_node(struct slowpath_probes_node *to, const struct slowpath_probes_node *from)
{
    const queue_word *words = (const queue_word *)from;
    queue_word *copied = (queue_word *)to;
    for (int word = 0; word < 4 + SLOWPATH_PROBES_FIELDS; word++)
        copied[word] = QUEUE_LOAD_RELAXED(&words[word]);
}

/* Takes the oldest record, if there is one. Ends after a round of the ring at the latest, whatever the memory says. */
static inline bool queue_take(const struct queue *queue, struct slowpath_probes_node *record)
{
    struct slowpath_probes_queue *shared = queue->shared;
    uint64_t slots = 1ull << queue->slots_log2;
    uint64_t head = QUEUE_LOAD(&shared->head);
    for (uint64_t attempt = 0; attempt < slots + QUEUE_ATTEMPTS; attempt++) {
        uint64_t slot = queue_slot(queue, head);
        uint64_t round = queue_round_of_ticket(queue, head);
        uint64_t word = QUEUE_LOAD(&shared->words[slot]);
        bool taken = false;
        if (queue_round_of_word(word) < round)
            return false;
        if (queue_round_of_word(word) == round && word & SLOWPATH_SLOT_FULL) {
            queue_copy_node(record, &queue->nodes[queue_node(queue, slot, word)]);
            QUEUE_FENCE(__ATOMIC_ACQUIRE);
            taken = QUEUE_SWAP(&shared->words[slot], &word, word & ~SLOWPATH_SLOT_FULL);
        }
        /* This ticket is done with, by us or by others; so are all that are a whole ring behind the tail. */
        uint64_t next = head + 1;
        uint64_t tail = QUEUE_LOAD(&shared->tail);
        if (tail > slots && next < tail - slots)
            next = tail - slots;
        if (QUEUE_SWAP(&shared->head, &head, next)) /* else others moved it, at least as far, and head says where */
            head = next;
        if (taken)
            return true;
    }
    return false;
}

/* What became of the records of a queue since it exists; exact at each slot (I4). */
struct queue_counts {
    uint64_t published, taken, waiting, sacrificed;
};

static inline void queue_count(const struct queue *queue, struct queue_counts *counts)
{
    for (uint64_t slot = 0; slot < 1ull << queue->slots_log2; slot++) {
        uint64_t word = QUEUE_LOAD(&queue->shared->words[slot]), sacrificed, before;
        do { /* until nobody changed it in between */
            before = word;
            sacrificed = QUEUE_LOAD_RELAXED(&queue->nodes[queue_node(queue, slot, word)].sacrificed);
            QUEUE_FENCE(__ATOMIC_ACQUIRE);
            word = QUEUE_LOAD(&queue->shared->words[slot]);
        } while (word != before);
        uint64_t waiting = word & SLOWPATH_SLOT_FULL ? 1 : 0;
        counts->published += queue_round_of_word(word);
        counts->waiting += waiting;
        counts->sacrificed += sacrificed;
        counts->taken += queue_round_of_word(word) - waiting - sacrificed;
    }
}

#endif
