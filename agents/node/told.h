/* What the add-on hands to the events: plain values, read from JavaScript's. What each means stands in
 * provider.h, which alone fires them. */
#ifndef SLOWPATH_NODE_TOLD_H
#define SLOWPATH_NODE_TOLD_H

#include <stdint.h>

/* A connection, as this end of it sees it. */
struct end_points {
    uint64_t id;
    int32_t fd;
    char local_address[64];
    uint16_t local_port;
    char remote_address[64];
    uint16_t remote_port;
};

/* Which piece of work it is and where it goes over the wire. */
struct place {
    uint64_t context;
    uint64_t cause;
    uint32_t number;
    const struct end_points *connection;
};

struct http_told {
    uint8_t version;
    uint16_t status;
    uint64_t sent;
    uint64_t received;
    const char *method;
    const char *path;
};

struct redis_told {
    uint64_t offset;
    uint64_t bytes;
    uint32_t arguments;
    char command[64];
};

#endif
