/* Which client a thread is just reading from or writing to, and how many bytes went over: the functions
 * that move bytes (read, write, …) count for the innermost transfer of their thread where it has their
 * descriptor. Not a statistic: transfers live on the stack of the hook that made them. */
#ifndef SLOWPATH_REDIS_TRANSFER_H
#define SLOWPATH_REDIS_TRANSFER_H

#include <stdint.h>

struct transfer {
    int fd;
    /* Set by freeClient: what `client` points to must not be touched any more. */
    int client_freed;
    void *client;
    /* -1: nothing was tried, or it failed; 0: the end of the stream. */
    int64_t bytes;
    /* How many of them have been told in a batch. */
    int64_t told;
    /* OpenSSL moved them. */
    int encrypted;
    struct transfer *outer;
};

extern __thread struct transfer *transfer_of_thread
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

static inline void transfer_begin(struct transfer *transfer, int fd, void *client)
{
    *transfer = (struct transfer){.fd = fd, .client = client, .bytes = -1, .outer = transfer_of_thread};
    transfer_of_thread = transfer;
}
static inline void transfer_end(const struct transfer *transfer)
{
    transfer_of_thread = transfer->outer;
}
static inline void transfer_count(int fd, int64_t bytes)
{
    struct transfer *transfer = transfer_of_thread;
    if (transfer && transfer->fd == fd && bytes >= 0)
        transfer->bytes = transfer->bytes < 0 ? bytes : transfer->bytes + bytes;
}

#endif
