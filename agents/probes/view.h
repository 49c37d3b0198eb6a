/* The shared memory, once it is mapped: where queues lie, and how probes are found and switched. For the process
 * that has the probes and for readers alike. Does not map, create or read records: memory.c and reader.c do. */
#ifndef SLOWPATH_PROBES_VIEW_H
#define SLOWPATH_PROBES_VIEW_H

#include "queue.h"

#include <stddef.h>

static inline struct slowpath_probes_entry *view_entries(struct slowpath_probes_header *header)
{
    return (struct slowpath_probes_entry *)((char *)header + header->probes_offset);
}

static inline struct slowpath_probes_node *view_nodes(struct slowpath_probes_header *header)
{
    return (struct slowpath_probes_node *)((char *)header + header->nodes_offset);
}

static inline struct queue view_queue(struct slowpath_probes_header *header, uint32_t number)
{
    char *queues = (char *)header + header->queues_offset;
    return (struct queue){(struct slowpath_probes_queue *)(queues + number * header->queue_stride), view_nodes(header),
                          number * header->slots, (uint32_t)__builtin_ctz(header->slots),
                          header->processors * header->types * header->slots + header->spares};
}

/* The entry of a probe, made if there is none yet; NULL if the table is full. Type is a number, not a bit. */
struct slowpath_probes_entry *view_entry(struct slowpath_probes_header *header, unsigned type, uint16_t id);

/* Switches what `selection` names: "all", or a list of TYPE, TYPE:ID, with "/N" for every N-th execution, separated
 * by commas. `every` is what else is written: 0, N, or SLOWPATH_PROBES_AS_WRITTEN. Types and "all" hold for
 * probes that are reached later, too. Returns what is wrong with the selection, or NULL. */
const char *view_switch(struct slowpath_probes_header *header, const char *selection, uint32_t every);

/* CNT, LAT…, by number. */
extern const char *const slowpath_type_names[SLOWPATH_PROBES_TYPES];

#endif
