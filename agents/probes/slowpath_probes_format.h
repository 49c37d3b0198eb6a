/* The shared memory of a process with probes, as C: what the process writes, the reader reads and
 * docs/formats/probes.md describes byte by byte. Both must change together, with the version.
 * Not for programs that are instrumented: these include slowpath_probes.h.
 *
 * All numbers are those of the machine (little-endian wherever this was tried), naturally aligned. */
#ifndef SLOWPATH_PROBES_FORMAT_H
#define SLOWPATH_PROBES_FORMAT_H

#include <stdint.h>

#define SLOWPATH_PROBES_MAGIC 0x5345424f52504c53ull /* "SLPROBES" in memory */
#define SLOWPATH_PROBES_VERSION 1u
#define SLOWPATH_PROBES_NAME "slowpath-probes" /* of the memfd; of a file: followed by "." and the pid */

enum {
    SLOWPATH_PROBES_TYPES = 8,
    SLOWPATH_PROBES_FIELDS = 6,
    SLOWPATH_PROBES_CAPACITY = 1024, /* probes that a process can have */
    SLOWPATH_PROBES_HEADER = 4096,   /* bytes before the table of probes */
    SLOWPATH_PROBES_LINE = 64,       /* bytes of a cache line */
};

/* Bits of a slot's word (queue.h): which round of the ring, whether a record waits, which node. */
#define SLOWPATH_SLOT_NODE_BITS 24
#define SLOWPATH_SLOT_FULL (1ull << SLOWPATH_SLOT_NODE_BITS)
#define SLOWPATH_SLOT_NODE_MASK (SLOWPATH_SLOT_FULL - 1)
#define SLOWPATH_SLOT_ROUND_SHIFT (SLOWPATH_SLOT_NODE_BITS + 1)

/* A switch (of a probe, or of a type for probes to come): 0 off; N every N-th execution of a thread
 * makes a record; this: as often as the source says. */
#define SLOWPATH_PROBES_AS_WRITTEN 0xffffffffu

enum slowpath_clock {
    SLOWPATH_CLOCK_MONOTONIC = 1, /* CLOCK_MONOTONIC, nanoseconds */
    SLOWPATH_CLOCK_TSC = 2,       /* x86's time-stamp counter */
    SLOWPATH_CLOCK_CNTVCT = 3,    /* ARM's virtual counter */
};

struct slowpath_probes_header {
    uint64_t magic; /* written last */
    uint32_t version;
    uint32_t header_bytes;
    uint64_t total_bytes;
    uint32_t process; /* in the process's own PID namespace */
    uint32_t processors;
    uint32_t types;
    uint32_t slots;    /* of a queue: a power of two */
    uint32_t capacity; /* of the table of probes */
    uint32_t spares;   /* nodes after those of the queues */
    uint64_t probes_offset;
    uint64_t queues_offset; /* queue of type t and processor p: number t * processors + p */
    uint64_t queue_stride;
    uint64_t nodes_offset;
    uint64_t node_stride;
    uint32_t clock; /* of timestamps and durations: enum slowpath_clock */
    uint32_t zero;
    uint64_t base_ticks; /* what that clock and CLOCK_MONOTONIC said at one moment */
    uint64_t base_ns;
    char program[64]; /* as /proc/PID/comm had it, zero-terminated */
    /* From here on changed while the process runs. */
    uint32_t switches[SLOWPATH_PROBES_TYPES];      /* for probes that are reached later */
    uint32_t unavailable[SLOWPATH_PROBES_TYPES];   /* errno why the type has no values here, or 0 */
    uint64_t refused;                              /* records without a spare node, or as others were always faster */
    uint64_t spare_nodes;                          /* stack of spare nodes: count of changes << 32 | node + 1 */
    uint32_t spares_begun;                         /* spare nodes that were ever handed out */
    uint32_t probes_refused;                       /* probes that the table had no room for */
};

/* A probe. `key` is 0 for a free entry, and claimed by one compare-and-swap; entries are never freed. */
struct slowpath_probes_entry {
    uint32_t key;     /* 1 << 31 | number of the type << 16 | id */
    uint32_t every;   /* the switch */
    uint32_t written; /* as the source says; 0: not reached yet */
    uint32_t zero;
    char name[48]; /* zero-terminated; empty: not reached yet */
};

/* A record, as it lies in a node. */
struct slowpath_probes_node {
    uint64_t sacrificed; /* records sacrificed in the slot that the node is in, ever */
    uint64_t timestamp;  /* ticks of the header's clock, when the record was stored */
    uint32_t thread;
    uint32_t type; /* one bit */
    uint16_t id;
    uint16_t processor;
    uint8_t field_count;
    uint8_t zero[3];
    uint64_t fields[SLOWPATH_PROBES_FIELDS];
    uint64_t zeros[6];
};

/* A queue; its slots' words follow. Tail and head have a cache line each. */
struct slowpath_probes_queue {
    uint64_t tail; /* records ever published, or one less (queue.h) */
    uint64_t zeros[7];
    uint64_t head; /* where consumers look first */
    uint64_t more_zeros[7];
    uint64_t words[];
};

#endif
