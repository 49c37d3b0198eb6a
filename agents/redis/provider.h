/* The events of provider slowpath_redis, as LTTng-UST wants them described: the exact list of what the
 * agent can tell, with every field and its unit; README.md says which to enable. LTTng's macros include
 * this file several times, hence the unusual guard. No field holds a key, a value or an argument.
 *
 * Fields that mean the same everywhere:
 *   fd         descriptor of the connection in this process; -1: none (the client of a script)
 *   client_id  as CLIENT ID answers: never used twice in the life of a process
 *   command    full name in lower case, with its subcommand: "get", "client|id"
 *   bytes      as the kernel (or OpenSSL, for a TLS connection) moved them
 *   type       of a message on the cluster bus, its number in Redis: 0 ping, 1 pong, 2 meet, 3 fail,
 *              4 publish, 10 sharded publish, …
 * Process and thread come with the contexts vpid and vtid of the session. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER slowpath_redis

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "provider.h"

#if !defined(SLOWPATH_REDIS_PROVIDER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define SLOWPATH_REDIS_PROVIDER_H

#include <lttng/tracepoint.h>
#include <stdint.h>

#include "batch_record.h"

/* ---- lite ------------------------------------------------------------------------------------ */

/* Batches: each is what one client sent, from the first byte read to the last byte of the replies written.
 * Several are told at once, in the order in which they ended, as an event costs more than all else that a
 * request is charged with; how long one may be kept for that is said in agent.c. Every field is an array with
 * one element for each batch; the last three have one for each command, those of the first batch first.
 * Offsets count from the moment when the batch's first read began, in units of unit_ns nanoseconds: 1, or
 * 1000 (1000000, ...) for a batch too long for 32 bits.
 *   age            nanoseconds from that moment to the event's time
 *   read_thread    thread that read last; 0: nothing was read (a reply that the client waited for, a
 *                  message to a subscriber, the rest of a long pipeline)
 *   write_thread   thread that wrote last; 0: nothing was written
 *   ended_by       why it is told: enum batch_end
 *   read_end       offset: the bytes of the first read were there
 *   write_start    offset: writing began; 0 where bytes_written is 0
 *   ended          offset: its end; where ended_by is 0, the end of writing
 *   bytes_read, bytes_written
 *   commands       how many of the elements of the arrays below are its own
 *   command        numbers that command_name explains, in the order in which the client sent them; 0: a
 *                  command that Redis does not know, or one that ended the connection
 *   start          offset: Redis turned to the command; that includes parsing it. Where CLIENT PAUSE or a failover
 *                  put it off, when it turned to it again
 *   duration       execution, in the same unit, without the time a blocking command waits */
#define SLOWPATH_REDIS_OF_BATCHES(type, name) \
    lttng_ust_field_sequence(type, name, told->name, uint8_t, told->batches)
#define SLOWPATH_REDIS_OF_COMMANDS(type, name) \
    lttng_ust_field_sequence(type, name, told->name, uint8_t, told->all_commands)
LTTNG_UST_TRACEPOINT_EVENT(slowpath_redis, batches,
    LTTNG_UST_TP_ARGS(const struct told_batches *, told),
    LTTNG_UST_TP_FIELDS(
        SLOWPATH_REDIS_OF_BATCHES(uint64_t, client_id)
        SLOWPATH_REDIS_OF_BATCHES(int32_t, fd)
        SLOWPATH_REDIS_OF_BATCHES(uint64_t, age)
        SLOWPATH_REDIS_OF_BATCHES(uint32_t, read_thread)
        SLOWPATH_REDIS_OF_BATCHES(uint32_t, write_thread)
        SLOWPATH_REDIS_OF_BATCHES(uint8_t, ended_by)
        SLOWPATH_REDIS_OF_BATCHES(uint32_t, unit_ns)
        SLOWPATH_REDIS_OF_BATCHES(uint32_t, read_end)
        SLOWPATH_REDIS_OF_BATCHES(uint32_t, write_start)
        SLOWPATH_REDIS_OF_BATCHES(uint32_t, ended)
        SLOWPATH_REDIS_OF_BATCHES(uint64_t, bytes_read)
        SLOWPATH_REDIS_OF_BATCHES(uint64_t, bytes_written)
        SLOWPATH_REDIS_OF_BATCHES(uint8_t, commands)
        SLOWPATH_REDIS_OF_COMMANDS(uint16_t, command)
        SLOWPATH_REDIS_OF_COMMANDS(uint32_t, start)
        SLOWPATH_REDIS_OF_COMMANDS(uint32_t, duration)))

/* What a number in `batches` means, for the life of the process. Told before its first use in a recording
 * and, while it is used, again: soon, as LTTng calls tracepoints before the recording takes any event, then
 * about every ten seconds. */
LTTNG_UST_TRACEPOINT_EVENT(slowpath_redis, command_name,
    LTTNG_UST_TP_ARGS(uint16_t, number, const char *, command),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(uint16_t, number, number)
        lttng_ust_field_string(command, command)))

/* Whose connection it is: told when it is opened and, like command_name, while it is used. Empty address
 * and port 0: a Unix socket.
 *   bytes_before   what Redis had read of the connection before the client's batch that is told next; 0: it
 *                  was just opened; -1: not known (an older TLS connection, a Unix socket)
 *   outgoing       1: this server opened it, as a replica to its primary: no replies are wanted there; 0 */
LTTNG_UST_TRACEPOINT_EVENT(slowpath_redis, client_address,
    LTTNG_UST_TP_ARGS(int32_t, fd, uint64_t, client_id, const char *, peer_address, uint16_t, peer_port,
                      const char *, own_address, uint16_t, own_port, int64_t, bytes_before,
                      uint8_t, outgoing),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(int32_t, fd, fd)
        lttng_ust_field_integer(uint64_t, client_id, client_id)
        lttng_ust_field_string(peer_address, peer_address)
        lttng_ust_field_integer(uint16_t, peer_port, peer_port)
        lttng_ust_field_string(own_address, own_address)
        lttng_ust_field_integer(uint16_t, own_port, own_port)
        lttng_ust_field_integer(int64_t, bytes_before, bytes_before)
        lttng_ust_field_integer(uint8_t, outgoing, outgoing)))

/* ---- life cycle of a request (start_/end_read_client_query, call_command_*, write_to_client_*) ---- */

LTTNG_UST_TRACEPOINT_EVENT_CLASS(slowpath_redis, client,
    LTTNG_UST_TP_ARGS(int32_t, fd, uint64_t, client_id),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(int32_t, fd, fd)
        lttng_ust_field_integer(uint64_t, client_id, client_id)))

#define SLOWPATH_REDIS_CLIENT_EVENT(event) \
    LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(slowpath_redis, client, slowpath_redis, event, \
        LTTNG_UST_TP_ARGS(int32_t, fd, uint64_t, client_id))

/* Redis turns to a connection that has something to read; reads, parses, and executes unless I/O threads
 * read. */
SLOWPATH_REDIS_CLIENT_EVENT(start_read_client_query)

/* bytes: 0: the client closed; -1: nothing was read (not there yet, an error, or read_postponed).
 * memory: bytes that the client takes up; 0: it is gone, or Redis is older than 7.0. */
LTTNG_UST_TRACEPOINT_EVENT(slowpath_redis, end_read_client_query,
    LTTNG_UST_TP_ARGS(int32_t, fd, uint64_t, client_id, int64_t, bytes, uint64_t, memory),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(int32_t, fd, fd)
        lttng_ust_field_integer(uint64_t, client_id, client_id)
        lttng_ust_field_integer(int64_t, bytes, bytes)
        lttng_ust_field_integer(uint64_t, memory, memory)))

/* A command is executed; commands that a script or EXEC calls nest. */
LTTNG_UST_TRACEPOINT_EVENT_CLASS(slowpath_redis, call,
    LTTNG_UST_TP_ARGS(int32_t, fd, uint64_t, client_id, const char *, command),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(int32_t, fd, fd)
        lttng_ust_field_integer(uint64_t, client_id, client_id)
        lttng_ust_field_string(command, command)))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(slowpath_redis, call, slowpath_redis, call_command_start,
    LTTNG_UST_TP_ARGS(int32_t, fd, uint64_t, client_id, const char *, command))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(slowpath_redis, call, slowpath_redis, call_command_end,
    LTTNG_UST_TP_ARGS(int32_t, fd, uint64_t, client_id, const char *, command))

/* Replies are written to a client. bytes: those that the kernel took; the rest follows in another pair. */
SLOWPATH_REDIS_CLIENT_EVENT(write_to_client_start)
LTTNG_UST_TRACEPOINT_EVENT(slowpath_redis, write_to_client_end,
    LTTNG_UST_TP_ARGS(int32_t, fd, uint64_t, client_id, int64_t, bytes),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(int32_t, fd, fd)
        lttng_ust_field_integer(uint64_t, client_id, client_id)
        lttng_ust_field_integer(int64_t, bytes, bytes)))

/* ---- full: these and all above ------------------------------------------------------------------- */

/* A command was parsed; it is checked, queued by MULTI, refused or executed; or put off, as clients are paused, and
 * told again when they go on. */
SLOWPATH_REDIS_CLIENT_EVENT(start_process_command)
SLOWPATH_REDIS_CLIENT_EVENT(end_process_command)
/* The client has replies to write and had none before. */
SLOWPATH_REDIS_CLIENT_EVENT(insert_clientwrite_queue)
/* Reading was left to the I/O threads. */
SLOWPATH_REDIS_CLIENT_EVENT(read_postponed)
/* The client's memory is freed. */
SLOWPATH_REDIS_CLIENT_EVENT(free_client)

/* asked: room in bytes; got: bytes, or what OpenSSL returned (0 or less: none); pending: bytes that
 * OpenSSL has decrypted and Redis has not read. */
LTTNG_UST_TRACEPOINT_EVENT(slowpath_redis, ssl_read,
    LTTNG_UST_TP_ARGS(int32_t, fd, int64_t, asked, int64_t, got, int64_t, pending),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(int32_t, fd, fd)
        lttng_ust_field_integer(int64_t, asked, asked)
        lttng_ust_field_integer(int64_t, got, got)
        lttng_ust_field_integer(int64_t, pending, pending)))

/* The event loop watches a descriptor for more, for less. mask: 1 readable, 2 writable. */
LTTNG_UST_TRACEPOINT_EVENT_CLASS(slowpath_redis, file_event,
    LTTNG_UST_TP_ARGS(int32_t, fd, int32_t, mask),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(int32_t, fd, fd)
        lttng_ust_field_integer(int32_t, mask, mask)))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(slowpath_redis, file_event, slowpath_redis, add_file_event,
    LTTNG_UST_TP_ARGS(int32_t, fd, int32_t, mask))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(slowpath_redis, file_event, slowpath_redis, delete_file_event,
    LTTNG_UST_TP_ARGS(int32_t, fd, int32_t, mask))

/* What the event loop does before it waits. The four have no fields. */
#define SLOWPATH_REDIS_PLAIN_EVENT(event) \
    LTTNG_UST_TRACEPOINT_EVENT(slowpath_redis, event, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())
SLOWPATH_REDIS_PLAIN_EVENT(before_sleep_start)
SLOWPATH_REDIS_PLAIN_EVENT(before_sleep_end)
SLOWPATH_REDIS_PLAIN_EVENT(handleClientsWithPendingReadsUsingThreads_start)
SLOWPATH_REDIS_PLAIN_EVENT(handleClientsWithPendingReadsUsingThreads_end)

/* The cluster bus was read; bytes as in end_read_client_query. */
LTTNG_UST_TRACEPOINT_EVENT(slowpath_redis, cluster_read,
    LTTNG_UST_TP_ARGS(int32_t, fd, int64_t, bytes),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(int32_t, fd, fd)
        lttng_ust_field_integer(int64_t, bytes, bytes)))

/* A whole message came in over the bus; one goes out to one node; one goes out to all nodes (fd is -1
 * there, and the cluster_send events between start and end are its copies). bytes: of one message.
 * payload: of these, bytes that a client published, without the channel; -1: none did, or not known. */
LTTNG_UST_TRACEPOINT_EVENT_CLASS(slowpath_redis, bus,
    LTTNG_UST_TP_ARGS(int32_t, fd, uint16_t, type, uint64_t, bytes,
                      int64_t, payload),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(int32_t, fd, fd)
        lttng_ust_field_integer(uint16_t, type, type)
        lttng_ust_field_integer(uint64_t, bytes, bytes)
        lttng_ust_field_integer(int64_t, payload, payload)))
#define SLOWPATH_REDIS_BUS_EVENT(event) \
    LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(slowpath_redis, bus, slowpath_redis, event, \
        LTTNG_UST_TP_ARGS(int32_t, fd, uint16_t, type, uint64_t, bytes, int64_t, payload))
SLOWPATH_REDIS_BUS_EVENT(cluster_process_packet)
SLOWPATH_REDIS_BUS_EVENT(cluster_send)
SLOWPATH_REDIS_BUS_EVENT(broadcast_start)
SLOWPATH_REDIS_BUS_EVENT(broadcast_end)

/* Between which ends a link to another node is: told before the link's first cluster_send or
 * cluster_process_packet of a recording and, like client_address, again. */
LTTNG_UST_TRACEPOINT_EVENT(slowpath_redis, bus_address,
    LTTNG_UST_TP_ARGS(int32_t, fd, const char *, peer_address, uint16_t, peer_port,
                      const char *, own_address, uint16_t, own_port),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(int32_t, fd, fd)
        lttng_ust_field_string(peer_address, peer_address)
        lttng_ust_field_integer(uint16_t, peer_port, peer_port)
        lttng_ust_field_string(own_address, own_address)
        lttng_ust_field_integer(uint16_t, own_port, own_port)))

#endif

#include <lttng/tracepoint-event.h>
