/* One function for each hooked function of Redis: it tells what the events of provider.h say and calls
 * the original. Where none of its events is recorded any more, it only calls the original; its detour
 * goes at the next safe point. Hooks read nothing of Redis but what layout.h learned. */
#define _GNU_SOURCE
#include "hooks.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "batch.h"
#include "layout.h"
#include "provider.h"

#define RECORDED(event) __builtin_expect(lttng_ust_tracepoint_enabled(slowpath_redis, event), 0)
#define TELL(event, ...) lttng_ust_tracepoint(slowpath_redis, event, ##__VA_ARGS__)

/* The originals. */
static void (*redis_readQueryFromClient)(void *connection);
static int (*redis_postponeClientRead)(void *client);
static int (*redis_processCommand)(void *client);
static void (*redis_blockClient)(void *client, int why);
static void (*redis_call)(void *client, int flags);
static int (*redis_prepareClientToWrite)(void *client);
static int (*redis_writeToClient)(void *client, int handler_installed);
static void *(*redis_createClient)(void *connection);
static void (*redis_freeClient)(void *client);
static int (*redis_aeCreateFileEvent)(void *loop, int fd, int mask, void *handler, void *data);
static void (*redis_aeDeleteFileEvent)(void *loop, int fd, int mask);
static void (*redis_beforeSleep)(void *loop);
static int (*redis_handleClientsWithPendingReadsUsingThreads)(void);
static void (*redis_clusterReadHandler)(void *connection);
static int (*redis_clusterProcessPacket)(void *link);
static void (*redis_clusterSendMessage)(void *link, unsigned char *message, size_t bytes);
static void (*redis_clusterBroadcastMessage)(void *message, size_t bytes);

/* Called, not hooked; getClientMemoryUsage is NULL before Redis 7.0. */
static int (*clientHasPendingReplies)(void *client);
static size_t (*getClientMemoryUsage)(void *client, size_t *output_buffer);
static int (*SSL_get_fd_)(const void *ssl);
static int (*SSL_pending_)(const void *ssl);

/* ---- clients ------------------------------------------------------------------------------------- */

static void hook_readQueryFromClient(void *connection)
{
    int told = RECORDED(start_read_client_query) | RECORDED(end_read_client_query);
    if (!told && !batch_recording) {
        redis_readQueryFromClient(connection);
        return;
    }
    void *client = client_of_connection(connection);
    uint64_t client_id = client_id_of(client);
    struct transfer transfer;
    transfer_begin(&transfer, fd_of_connection(connection), client);
    TELL(start_read_client_query, transfer.fd, client_id);
    if (batch_recording)
        batch_read_begin(transfer.fd, client_id);
    redis_readQueryFromClient(connection);
    transfer_end(&transfer);
    if (batch_recording && !transfer.client_freed)
        batch_read_end(&transfer, client_id);
    if (told && !transfer.client_freed)
        batch_tell_client(transfer.fd, client_id);
    if (RECORDED(end_read_client_query))
        TELL(end_read_client_query, transfer.fd, client_id, transfer.bytes,
             transfer.client_freed || !getClientMemoryUsage ? 0 : getClientMemoryUsage(client, NULL));
}

static int hook_postponeClientRead(void *client)
{
    int postponed = redis_postponeClientRead(client);
    if (postponed && RECORDED(read_postponed))
        TELL(read_postponed, fd_of_client(client), client_id_of(client));
    return postponed;
}

/* The client whose command processCommand put off in its last turn, as clients are paused (CLIENT PAUSE, a failover):
 * it is processed again when they go on. */
static void *postponed_client;
static const uint8_t *processCommand_code;
static size_t processCommand_bytes;

static void hook_blockClient(void *client, int why)
{
    /* Commands that block are executed, and call it from elsewhere. */
    const uint8_t *caller = __builtin_return_address(0);
    if ((size_t)(caller - processCommand_code) < processCommand_bytes)
        postponed_client = client;
    redis_blockClient(client, why);
}

static int hook_processCommand(void *client)
{
    if (__builtin_expect(learning != LEARNED, 0)) {
        int result = redis_processCommand(client);
        layout_see_command(client);
        return result;
    }
    int told = RECORDED(start_process_command) | RECORDED(end_process_command);
    if (!told && !batch_recording)
        return redis_processCommand(client);
    int fd = fd_of_client(client);
    uint64_t client_id = client_id_of(client);
    if (told)
        TELL(start_process_command, fd, client_id);
    struct batch *batch = batch_recording ? batch_command_begin(fd, client_id) : NULL;
    postponed_client = NULL;
    int result = redis_processCommand(client);
    if (batch && batch_recording && __builtin_expect(postponed_client == client, 0))
        batch_command_postponed(batch, client_id);
    else if (batch && batch_recording)
        /* Not 0: the client may be gone. */
        batch_command_end(batch, client_id, result ? NULL : sent_command_of_client(client));
    if (told)
        TELL(end_process_command, fd, client_id);
    return result;
}

static void hook_call(void *client, int flags)
{
    if (!(RECORDED(call_command_start) | RECORDED(call_command_end))) {
        redis_call(client, flags);
        return;
    }
    int fd = fd_of_client(client);
    uint64_t client_id = client_id_of(client);
    const char *command = name_of_command(command_of_client(client));
    TELL(call_command_start, fd, client_id, command);
    redis_call(client, flags);
    TELL(call_command_end, fd, client_id, command);
}

static int hook_prepareClientToWrite(void *client)
{
    if (!RECORDED(insert_clientwrite_queue))
        return redis_prepareClientToWrite(client);
    int had_replies = clientHasPendingReplies(client);
    int refused = redis_prepareClientToWrite(client);
    if (!refused && !had_replies && fd_of_client(client) >= 0)
        TELL(insert_clientwrite_queue, fd_of_client(client), client_id_of(client));
    return refused;
}

static int hook_writeToClient(void *client, int handler_installed)
{
    int told = RECORDED(write_to_client_start) | RECORDED(write_to_client_end);
    if (!told && !batch_recording)
        return redis_writeToClient(client, handler_installed);
    uint64_t client_id = client_id_of(client);
    struct transfer transfer;
    transfer_begin(&transfer, fd_of_client(client), client);
    TELL(write_to_client_start, transfer.fd, client_id);
    if (batch_recording)
        batch_write_begin(transfer.fd, client_id);
    int failed = redis_writeToClient(client, handler_installed);
    transfer_end(&transfer);
    if (batch_recording && !transfer.client_freed)
        batch_write_end(&transfer, client_id, !failed && clientHasPendingReplies(client));
    if (told)
        TELL(write_to_client_end, transfer.fd, client_id, transfer.bytes > 0 ? transfer.bytes : 0);
    return failed;
}

static void *hook_createClient(void *connection)
{
    void *client = redis_createClient(connection);
    if (client && connection && RECORDED(client_address))
        batch_tell_new_client(fd_of_connection(connection), client_id_of(client));
    return client;
}

static void hook_freeClient(void *client)
{
    int fd = fd_of_client(client);
    if (RECORDED(free_client))
        TELL(free_client, fd, client_id_of(client));
    if (batch_recording)
        batch_client_freed(fd, client_id_of(client));
    for (struct transfer *transfer = transfer_of_thread; transfer; transfer = transfer->outer)
        transfer->client_freed |= transfer->client == client;
    redis_freeClient(client);
}

/* ---- the event loop ------------------------------------------------------------------------------ */

static int hook_aeCreateFileEvent(void *loop, int fd, int mask, void *handler, void *data)
{
    TELL(add_file_event, fd, mask);
    return redis_aeCreateFileEvent(loop, fd, mask, handler, data);
}

static void hook_aeDeleteFileEvent(void *loop, int fd, int mask)
{
    TELL(delete_file_event, fd, mask);
    redis_aeDeleteFileEvent(loop, fd, mask);
}

static void hook_beforeSleep(void *loop)
{
    TELL(before_sleep_start);
    redis_beforeSleep(loop);
    TELL(before_sleep_end);
}

static int hook_handleClientsWithPendingReadsUsingThreads(void)
{
    TELL(handleClientsWithPendingReadsUsingThreads_start);
    int processed = redis_handleClientsWithPendingReadsUsingThreads();
    TELL(handleClientsWithPendingReadsUsingThreads_end);
    return processed;
}

/* ---- the cluster bus ----------------------------------------------------------------------------- */

/* Messages are as on the wire: "RCmb", length, version, port, type, and more, all of it BUS_HEADER bytes; then, where
 * something is published, the lengths of channel and message, and these. In network byte order. */
#define BUS_SIGNATURE "RCmb"
enum { BUS_HEADER = 2256, BUS_PUBLISHED = BUS_HEADER + 8, BUS_PUBLISH = 4, BUS_PUBLISH_SHARDED = 10 };
static uint16_t bus_type(const unsigned char *message)
{
    uint16_t type;
    memcpy(&type, message + 12, sizeof type);
    return ntohs(type);
}
static uint32_t bus_length(const unsigned char *message, size_t at)
{
    uint32_t bytes;
    memcpy(&bytes, message + at, sizeof bytes);
    return ntohl(bytes);
}
static uint32_t bus_bytes(const unsigned char *message)
{
    return bus_length(message, 4);
}

/* -1 where nothing is published, or the lengths do not add up: this Redis speaks otherwise. */
static int64_t bus_payload(const unsigned char *message)
{
    uint16_t type = bus_type(message);
    uint64_t bytes = bus_bytes(message);
    if ((type != BUS_PUBLISH && type != BUS_PUBLISH_SHARDED) || bytes < BUS_PUBLISHED)
        return -1;
    uint64_t channel = bus_length(message, BUS_HEADER), payload = bus_length(message, BUS_HEADER + 4);
    return BUS_PUBLISHED + channel + payload == bytes ? (int64_t)payload : -1;
}

/* A link to another node: a small structure that holds its connection and the message received. Where
 * is learned when the first message is read: the connection is then known. -1: not yet. */
#define LINK_BYTES 64
static int link_connection = -1, link_message = -1;

static void learn_link(void *link)
{
    for (int offset = 0; offset < LINK_BYTES && transfer_of_thread; offset += 8) {
        void *pointer = FIELD(void *, link, offset);
        if (pointer && pointer == transfer_of_thread->client)
            link_connection = offset;
        else if (layout_points_to_bytes(pointer, BUS_SIGNATURE))
            link_message = offset;
    }
}

static int fd_of_link(void *link)
{
    return link && link_connection >= 0 ? fd_of_connection(FIELD(void *, link, link_connection)) : -1;
}

static void tell_link(void *link)
{
    if (RECORDED(bus_address))
        batch_tell_link(fd_of_link(link), link);
}

static void hook_clusterReadHandler(void *connection)
{
    struct transfer transfer;
    /* For learn_link, the transfer's "client" is the connection: no client of Redis is read here. */
    transfer_begin(&transfer, fd_of_connection(connection), connection);
    redis_clusterReadHandler(connection);
    transfer_end(&transfer);
    TELL(cluster_read, transfer.fd, transfer.bytes);
}

static int hook_clusterProcessPacket(void *link)
{
    if (link_message < 0)
        learn_link(link);
    if (RECORDED(cluster_process_packet)) {
        const unsigned char *message = link_message >= 0 ? FIELD(unsigned char *, link, link_message) : NULL;
        if (message) {
            tell_link(link);
            TELL(cluster_process_packet, fd_of_link(link), bus_type(message), bus_bytes(message),
                 bus_payload(message));
        }
    }
    return redis_clusterProcessPacket(link);
}

static void hook_clusterSendMessage(void *link, unsigned char *message, size_t bytes)
{
    if (link && RECORDED(cluster_send)) {
        tell_link(link);
        TELL(cluster_send, fd_of_link(link), bus_type(message), bytes, bus_payload(message));
    }
    redis_clusterSendMessage(link, message, bytes);
}

static void hook_clusterBroadcastMessage(void *message, size_t bytes)
{
    uint16_t type = bus_type(message);
    int64_t payload = bus_payload(message);
    TELL(broadcast_start, -1, type, bytes, payload);
    redis_clusterBroadcastMessage(message, bytes);
    TELL(broadcast_end, -1, type, bytes, payload);
}

/* ---- functions of libraries that move bytes -------------------------------------------------------- */

static ssize_t hook_read(int fd, void *into, size_t room);
static ssize_t hook_write(int fd, const void *from, size_t bytes);
static ssize_t hook_writev(int fd, const struct iovec *parts, int count);
static int hook_SSL_read(void *ssl, void *into, int room);
static int hook_SSL_write(void *ssl, const void *from, int bytes);

enum { READ, WRITE, WRITEV, SSL_READ, SSL_WRITE, MOVERS };
static struct imported movers[MOVERS] = {
    [READ] = {.function = "read", .hook = hook_read},
    [WRITE] = {.function = "write", .hook = hook_write},
    [WRITEV] = {.function = "writev", .hook = hook_writev},
    [SSL_READ] = {.function = "SSL_read", .hook = hook_SSL_read},
    [SSL_WRITE] = {.function = "SSL_write", .hook = hook_SSL_write},
};

static ssize_t hook_read(int fd, void *into, size_t room)
{
    ssize_t (*original)(int, void *, size_t) = movers[READ].original;
    ssize_t bytes = original(fd, into, room);
    transfer_count(fd, bytes);
    return bytes;
}

static ssize_t hook_write(int fd, const void *from, size_t size)
{
    ssize_t (*original)(int, const void *, size_t) = movers[WRITE].original;
    ssize_t bytes = original(fd, from, size);
    transfer_count(fd, bytes);
    return bytes;
}

static ssize_t hook_writev(int fd, const struct iovec *parts, int count)
{
    ssize_t (*original)(int, const struct iovec *, int) = movers[WRITEV].original;
    ssize_t bytes = original(fd, parts, count);
    transfer_count(fd, bytes);
    return bytes;
}

static int hook_SSL_read(void *ssl, void *into, int room)
{
    int (*original)(void *, void *, int) = movers[SSL_READ].original;
    int got = original(ssl, into, room);
    if (transfer_of_thread || RECORDED(ssl_read)) {
        /* Redis asks for the reason of a failure after this. */
        int error = errno, fd = SSL_get_fd_(ssl);
        if (got > 0)
            transfer_count(fd, got);
        if (transfer_of_thread && transfer_of_thread->fd == fd)
            transfer_of_thread->encrypted = 1;
        TELL(ssl_read, fd, room, got, SSL_pending_(ssl));
        errno = error;
    }
    return got;
}

static int hook_SSL_write(void *ssl, const void *from, int size)
{
    int (*original)(void *, const void *, int) = movers[SSL_WRITE].original;
    int bytes = original(ssl, from, size);
    if (transfer_of_thread && bytes > 0)
        transfer_count(SSL_get_fd_(ssl), bytes);
    return bytes;
}

/* ---- which of them are needed ---------------------------------------------------------------------- */

#define HOOKED_FUNCTIONS(with) \
    with(readQueryFromClient) with(postponeClientRead) with(processCommand) with(blockClient) with(call) \
    with(prepareClientToWrite) with(writeToClient) with(createClient) with(freeClient) \
    with(aeCreateFileEvent) with(aeDeleteFileEvent) with(beforeSleep) \
    with(handleClientsWithPendingReadsUsingThreads) with(clusterReadHandler) \
    with(clusterProcessPacket) with(clusterSendMessage) with(clusterBroadcastMessage)
#define NUMBER(function) NUMBER_##function,
enum { HOOKED_FUNCTIONS(NUMBER) HOOKED };
#define DETOUR(name) {.function = #name, .hook = hook_##name, .original = (void **)&redis_##name},
static struct detour detours[HOOKED] = {HOOKED_FUNCTIONS(DETOUR)};
#define NEEDS(function) (1u << NUMBER_##function)

uint32_t hooks_for_learning(void)
{
    return NEEDS(processCommand);
}

int hooks_want_batches(void)
{
    return RECORDED(batches) != 0;
}

uint32_t hooks_wanted(void)
{
    uint32_t wanted = 0;
    if (RECORDED(batches))
        wanted |= NEEDS(readQueryFromClient) | NEEDS(processCommand) | NEEDS(blockClient) |
                  NEEDS(writeToClient) | NEEDS(createClient) | NEEDS(freeClient);
    if (RECORDED(start_read_client_query) | RECORDED(end_read_client_query))
        wanted |= NEEDS(readQueryFromClient) | NEEDS(freeClient) | NEEDS(createClient);
    if (RECORDED(call_command_start) | RECORDED(call_command_end))
        wanted |= NEEDS(call);
    if (RECORDED(write_to_client_start) | RECORDED(write_to_client_end))
        wanted |= NEEDS(writeToClient) | NEEDS(freeClient);
    if (RECORDED(start_process_command) | RECORDED(end_process_command))
        wanted |= NEEDS(processCommand);
    if (RECORDED(insert_clientwrite_queue))
        wanted |= NEEDS(prepareClientToWrite);
    if (RECORDED(read_postponed))
        wanted |= NEEDS(postponeClientRead);
    if (RECORDED(free_client))
        wanted |= NEEDS(freeClient);
    if (RECORDED(client_address))
        wanted |= NEEDS(createClient);
    if (RECORDED(add_file_event))
        wanted |= NEEDS(aeCreateFileEvent);
    if (RECORDED(delete_file_event))
        wanted |= NEEDS(aeDeleteFileEvent);
    if (RECORDED(before_sleep_start) | RECORDED(before_sleep_end))
        wanted |= NEEDS(beforeSleep);
    if (RECORDED(handleClientsWithPendingReadsUsingThreads_start) |
        RECORDED(handleClientsWithPendingReadsUsingThreads_end))
        wanted |= NEEDS(handleClientsWithPendingReadsUsingThreads);
    /* TLS connections are read for clients and the bus alike. */
    if (RECORDED(ssl_read))
        wanted |= NEEDS(readQueryFromClient) | NEEDS(freeClient);
    /* What is sent is known by what was read: learn_link. */
    if (RECORDED(cluster_read) | RECORDED(cluster_process_packet) | RECORDED(cluster_send))
        wanted |= NEEDS(clusterReadHandler) | NEEDS(clusterProcessPacket);
    if (RECORDED(cluster_send))
        wanted |= NEEDS(clusterSendMessage);
    if (RECORDED(broadcast_start) | RECORDED(broadcast_end))
        wanted |= NEEDS(clusterBroadcastMessage);
    return wanted;
}

reason hooks_prepare(void)
{
    size_t size;
    clientHasPendingReplies = (void *)image_function("clientHasPendingReplies", &size);
    getClientMemoryUsage = (void *)image_function("getClientMemoryUsage", &size);
    processCommand_code = image_function("processCommand", &processCommand_bytes);
    reason failed = detours_prepare(detours, HOOKED);
    if (failed)
        return failed;
    if (!clientHasPendingReplies)
        return "the program exports no function clientHasPendingReplies";
    for (int i = 0; i < MOVERS; i++)
        imported_find(&movers[i]);
    if (!movers[READ].slot || !movers[WRITE].slot)
        return "the program does not import read and write";
    /* Redis may be built without TLS, and with an older writeToClient. */
    if (movers[SSL_READ].slot || movers[SSL_WRITE].slot) {
        SSL_get_fd_ = library_function("SSL_get_fd");
        SSL_pending_ = library_function("SSL_pending");
        if (!SSL_get_fd_ || !SSL_pending_)
            return "OpenSSL has no SSL_get_fd or SSL_pending";
    }
    return NULL;
}

reason hooks_place(uint32_t wanted)
{
    uint32_t moving = NEEDS(readQueryFromClient) | NEEDS(writeToClient) | NEEDS(clusterReadHandler);
    int movers_wanted = (wanted & moving) != 0;
    reason failed = detours_place(wanted);
    for (int i = 0; i < MOVERS; i++) {
        reason also = movers_wanted && !failed ? imported_hook(&movers[i]) : imported_restore(&movers[i]);
        failed = failed ? failed : also;
    }
    if (failed)
        for (int i = 0; i < MOVERS; i++)
            imported_restore(&movers[i]);
    return failed;
}
