/* What one `batch` event carries, as provider.h reads it: apart, because LTTng's macros include that
 * file many times. Not what the agent keeps while a batch is open: see batch.c. */
#ifndef SLOWPATH_REDIS_BATCH_RECORD_H
#define SLOWPATH_REDIS_BATCH_RECORD_H

#include <stdint.h>

/* A pipeline with more commands is told in several events. */
#define MOST_COMMANDS 32

/* The numbers are in traces: they never change. */
enum batch_end {
    /* The replies have been written, all of them. */
    BATCH_WRITTEN = 0,
    /* The event holds no more commands; another one follows. */
    BATCH_FULL = 1,
    /* Nothing happened for a second: a blocked command, no reply wanted, a client that reads slowly. */
    BATCH_WAITED = 2,
    /* The connection is gone. */
    BATCH_CLIENT_FREED = 3,
};

struct batch_record {
    uint64_t client_id, bytes_read, bytes_written;
    int32_t fd;
    uint32_t read_thread, unit_ns, read_end, write_start, ended;
    uint8_t ended_by, commands;
    uint16_t command[MOST_COMMANDS];
    uint32_t start[MOST_COMMANDS], duration[MOST_COMMANDS];
};

#endif
