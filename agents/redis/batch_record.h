/* What one `batches` event carries, as provider.h reads it: apart, because LTTng's macros include that
 * file many times. Not what is known of a batch while it is open: see batch.c. */
#ifndef SLOWPATH_REDIS_BATCH_RECORD_H
#define SLOWPATH_REDIS_BATCH_RECORD_H

#include <stdint.h>

/* A pipeline with more commands is told as several batches. */
#define MOST_COMMANDS 32
/* Of one event, which must fit into the smallest sub-buffer that LTTng makes (4096 bytes). */
#define MOST_BATCHES 32
#define MOST_COMMANDS_TOLD 128

/* The numbers are in traces: they never change. */
enum batch_end {
    /* The replies have been written, all of them. */
    BATCH_WRITTEN = 0,
    /* It holds no more commands; another one follows. */
    BATCH_FULL = 1,
    /* Nothing happened for a second: a blocked command, no reply wanted, a client that reads slowly. */
    BATCH_WAITED = 2,
    /* The connection is gone. */
    BATCH_CLIENT_FREED = 3,
    /* No reply is wanted: one of the two is the other's replica. */
    BATCH_UNANSWERED = 4,
};

/* A column for each field; those of commands hold each batch's commands one after the other. */
struct told_batches {
    uint32_t batches, all_commands;
    uint64_t client_id[MOST_BATCHES], age[MOST_BATCHES], bytes_read[MOST_BATCHES], bytes_written[MOST_BATCHES];
    int32_t fd[MOST_BATCHES];
    uint32_t read_thread[MOST_BATCHES], write_thread[MOST_BATCHES], unit_ns[MOST_BATCHES];
    uint32_t read_end[MOST_BATCHES], write_start[MOST_BATCHES], ended[MOST_BATCHES];
    uint8_t ended_by[MOST_BATCHES], commands[MOST_BATCHES];
    uint16_t command[MOST_COMMANDS_TOLD];
    uint32_t start[MOST_COMMANDS_TOLD], duration[MOST_COMMANDS_TOLD];
};

#endif
