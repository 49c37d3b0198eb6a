/* Where Redis keeps what the events tell, learned from the running server, as stock builds bring no debug
 * information and the places change between versions: two clients of our own, over socket pairs, send
 * CLIENT ID, and their structures are searched for what is known of them. Both must agree. Not a table of
 * versions. Everything here belongs to the main thread, but for the accessors. */
#ifndef SLOWPATH_REDIS_LAYOUT_H
#define SLOWPATH_REDIS_LAYOUT_H

#include "image.h"

struct layout {
    /* Offsets in bytes. The client's id is its first field in all versions (checked). */
    int client_connection, connection_client, connection_fd, command_name;
    /* What the client's command is while it executes (Redis executes some as another one), and what the
     * client sent last. */
    int client_command, client_sent_command;
};
extern struct layout layout;

enum learning { LEARNING_TO_BEGIN, LEARNING, LEARNED, LEARNING_FAILED };
extern enum learning learning;

/* Is everything there that learning needs? */
reason layout_prepare(void);
/* Connects the two clients. Only where Redis itself might accept some: in the main thread, outside of
 * its functions. The detour of processCommand must be in place. */
reason layout_begin(void);
/* To be called after each command while learning. */
void layout_see_command(const void *client);
/* To be called each turn of the event loop: completes, or fails after some seconds. */
reason layout_continue(void);

/* Does the pointer lead to readable memory that begins with this text? For once, not for each event. */
int layout_points_to_bytes(const void *pointer, const char *text);

#define FIELD(type, structure, offset) (*(type *)((char *)(structure) + (offset)))

static inline uint64_t client_id_of(void *client)
{
    return FIELD(uint64_t, client, 0);
}
static inline void *client_of_connection(void *connection)
{
    return FIELD(void *, connection, layout.connection_client);
}
static inline int fd_of_connection(void *connection)
{
    return connection ? FIELD(int, connection, layout.connection_fd) : -1;
}
static inline int fd_of_client(void *client)
{
    return fd_of_connection(FIELD(void *, client, layout.client_connection));
}
/* NULL: none, as the command is not known. */
static inline void *command_of_client(void *client)
{
    return FIELD(void *, client, layout.client_command);
}
static inline void *sent_command_of_client(void *client)
{
    return FIELD(void *, client, layout.client_sent_command);
}
static inline const char *name_of_command(void *command)
{
    return command ? FIELD(const char *, command, layout.command_name) : "";
}

#endif
