/* Makes the golden memory: a small one, by the product's own queue.h and view.h, with records in every state that there is, and
 * nothing in it that depends on the machine. tests/golden/README.md says what is in it. Run by hand when the format's version
 * changes, and by the tests, which compare.   golden FILE */
#include "../view.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROCESSORS = 2, SLOTS = 2, CAPACITY = 8, SPARES = 2, LAT = 1, TPT = 2, SNAPSHOT = 7 };

static struct slowpath_probes_header *memory;
static uint32_t spare;

static void push(unsigned type, uint16_t processor, uint16_t id, uint64_t timestamp, uint8_t count, const uint64_t *fields)
{
    struct queue queue = view_queue(memory, type * PROCESSORS + processor);
    struct queue_record record = {.timestamp = timestamp, .thread = 1234, .type = 1u << type, .id = id,
                                  .processor = processor, .field_count = count};
    memcpy(record.fields, fields, count * sizeof *fields);
    queue_write_node(&view_nodes(memory)[spare], &record);
    spare = queue_push(&queue, spare);
}

static void probe(unsigned type, uint16_t id, uint32_t written, uint32_t every, const char *name)
{
    struct slowpath_probes_entry *entry = view_entry(memory, type, id);
    entry->every = every;
    entry->written = written;
    strcpy(entry->name, name);
}

int main(int count, char **arguments)
{
    uint32_t queues = PROCESSORS * SLOWPATH_PROBES_TYPES;
    struct slowpath_probes_header header = {
        .magic = SLOWPATH_PROBES_MAGIC, .version = 1, .header_bytes = SLOWPATH_PROBES_HEADER, .process = 1200,
        .processors = PROCESSORS, .types = SLOWPATH_PROBES_TYPES, .slots = SLOTS, .capacity = CAPACITY, .spares = SPARES,
        .probes_offset = SLOWPATH_PROBES_HEADER, .clock = SLOWPATH_CLOCK_MONOTONIC, .base_ticks = 1000, .base_ns = 1000,
        .program = "golden", .node_stride = sizeof(struct slowpath_probes_node), .queue_stride = 192,
        .switches = {[LAT] = SLOWPATH_PROBES_AS_WRITTEN}, .unavailable = {[3] = 2}, .refused = 5, .spares_begun = 1};
    header.queues_offset = header.probes_offset + CAPACITY * sizeof(struct slowpath_probes_entry);
    header.nodes_offset = (header.queues_offset + queues * header.queue_stride + 127) & ~127ull;
    header.total_bytes = (header.nodes_offset + (queues * SLOTS + SPARES) * header.node_stride + 4095) & ~4095ull;
    memory = aligned_alloc(4096, header.total_bytes);
    memset(memory, 0, header.total_bytes);
    *memory = header;
    spare = queues * SLOTS;

    probe(LAT, 7, 1, SLOWPATH_PROBES_AS_WRITTEN, "query");
    probe(TPT, 7, 100, 10, "rows \"a\"");
    probe(SNAPSHOT, 65535, 1, 0, "");
    probe(3, 9, 1, 1, "cache");
    view_entry(memory, 0, 300); /* switched off from outside before it was reached */

    struct slowpath_probes_node taken;
    struct queue latencies = view_queue(memory, LAT * PROCESSORS);
    for (uint64_t number = 1; number <= 5; number++) {
        push(LAT, 0, 7, 10000 * number, 1, &(uint64_t){100 * number});
        if (number == 2) /* the first is taken; of the others the second and the third are sacrificed */
            queue_take(&latencies, &taken);
    }
    push(TPT, 1, 7, 2000000000123, 4, (const uint64_t[]){10, 5000, 20, 9000});
    push(SNAPSHOT, 1, 65535, 70000, 6, (const uint64_t[]){0, 1, 2, 3, 4, UINT64_MAX});
    push(SNAPSHOT, 1, 65535, 80000, 0, (const uint64_t[]){0});
    view_queue(memory, SNAPSHOT * PROCESSORS + 1).shared->tail--; /* its producer died before it moved the tail */

    int file = count == 2 ? open(arguments[1], O_WRONLY | O_CREAT | O_TRUNC, 0644) : -1;
    return write(file, memory, header.total_bytes) == (ssize_t)header.total_bytes ? 0 : 1;
}
