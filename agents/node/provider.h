/* The events of provider slowpath_node, as LTTng-UST wants them described: the exact list of what the
 * agent can tell, with every field and its unit. LTTng's macros include this file several times, hence
 * the unusual guard. No field holds a header, a body, a query string (unless asked for), a key or a value.
 *
 * Fields that mean the same everywhere:
 *   context         number of this request or command as a piece of work; never used twice in a process
 *   cause           context of the server request that was being served when it was made; 0: none known
 *   connection      number of the connection, never used twice in a process: a later connection with the
 *                   same addresses, ports and descriptor has another
 *   number          HTTP/1.1 and Redis: 1 for the first on its connection, 2 for the second, … in the order
 *                   on the wire; 0: the connection is older than the recording, so that the bytes tell.
 *                   HTTP/2: the id of the stream, which is the same at both ends
 *   fd              descriptor of the connection in this process; -1: not known
 *   local_…, remote_…  addresses as text, and ports; empty and 0: a Unix socket
 * Process and thread come with the contexts vpid and vtid of the session. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER slowpath_node

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "provider.h"

#if !defined(SLOWPATH_NODE_PROVIDER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define SLOWPATH_NODE_PROVIDER_H

#include <lttng/tracepoint.h>
#include <stdint.h>

#include "told.h"

/* The fields of `struct place`, and of its connection. */
#define SLOWPATH_NODE_PLACE(place) \
    lttng_ust_field_integer(uint64_t, context, (place)->context) \
    lttng_ust_field_integer(uint64_t, cause, (place)->cause) \
    lttng_ust_field_integer(uint64_t, connection, (place)->connection->id) \
    lttng_ust_field_integer(uint32_t, number, (place)->number) \
    lttng_ust_field_integer(int32_t, fd, (place)->connection->fd) \
    lttng_ust_field_string(local_address, (place)->connection->local_address) \
    lttng_ust_field_integer(uint16_t, local_port, (place)->connection->local_port) \
    lttng_ust_field_string(remote_address, (place)->connection->remote_address) \
    lttng_ust_field_integer(uint16_t, remote_port, (place)->connection->remote_port)

/* One request over HTTP, told at four moments:
 *   http_client_request   its head is about to be written
 *   http_server_receive   its head has been read; the handler is called next
 *   http_server_response  the last byte of the answer was given to the kernel
 *   http_client_response  the head of the answer has been read
 * Fields:
 *   version   11: HTTP/1.1 (or 1.0); 20: HTTP/2
 *   status    of the answer; 0 in the first two
 *   sent      of http_client_request: bytes that went over the connection so far, without those of TLS; 0 for
 *             HTTP/2, and in the others
 *   received  of http_server_receive: the same. Without pipelining, the request that a server receives is the
 *             one whose `sent` at the client is below `received` while the next one's is not
 *   method    of the first two: "GET"; empty in the others, which have the same `context`
 *   path      of the first two: without scheme, host, parameters, query string and fragment; at most 511 bytes */
#define SLOWPATH_NODE_HTTP_ARGS \
    LTTNG_UST_TP_ARGS(const struct place *, place, const struct http_told *, told)
LTTNG_UST_TRACEPOINT_EVENT_CLASS(slowpath_node, http, SLOWPATH_NODE_HTTP_ARGS,
    LTTNG_UST_TP_FIELDS(
        SLOWPATH_NODE_PLACE(place)
        lttng_ust_field_integer(uint8_t, version, told->version)
        lttng_ust_field_integer(uint16_t, status, told->status)
        lttng_ust_field_integer(uint64_t, sent, told->sent)
        lttng_ust_field_integer(uint64_t, received, told->received)
        lttng_ust_field_string(method, told->method)
        lttng_ust_field_string(path, told->path)))
#define SLOWPATH_NODE_HTTP_EVENT(event) \
    LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(slowpath_node, http, slowpath_node, event, SLOWPATH_NODE_HTTP_ARGS)
SLOWPATH_NODE_HTTP_EVENT(http_client_request)
SLOWPATH_NODE_HTTP_EVENT(http_server_receive)
SLOWPATH_NODE_HTTP_EVENT(http_server_response)
SLOWPATH_NODE_HTTP_EVENT(http_client_response)

/* A command is about to be written to a Redis server.
 *   offset      bytes written to the connection before the command
 *   bytes       of the command on the wire
 *   arguments   how many follow the name
 *   command     name in lower case; empty where it is no command of Redis, Valkey or their modules that is known */
LTTNG_UST_TRACEPOINT_EVENT(slowpath_node, redis_command,
    LTTNG_UST_TP_ARGS(const struct place *, place, const struct redis_told *, told),
    LTTNG_UST_TP_FIELDS(
        SLOWPATH_NODE_PLACE(place)
        lttng_ust_field_integer(uint64_t, offset, told->offset)
        lttng_ust_field_integer(uint64_t, bytes, told->bytes)
        lttng_ust_field_integer(uint32_t, arguments, told->arguments)
        lttng_ust_field_string(command, told->command)))

/* Told by a timer of the event loop. A thread of JavaScript has a loop of its own.
 *   asked_ns    how long the timer was to wait
 *   delay_ns    how much longer it took: other work kept the loop busy, or the thread had no processor;
 *               below 1 ms it is the timers' own coarseness
 *   active_ns   of asked_ns + delay_ns, how long the loop was not waiting for events */
LTTNG_UST_TRACEPOINT_EVENT(slowpath_node, event_loop_delay,
    LTTNG_UST_TP_ARGS(uint64_t, asked_ns, uint64_t, delay_ns, uint64_t, active_ns),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(uint64_t, asked_ns, asked_ns)
        lttng_ust_field_integer(uint64_t, delay_ns, delay_ns)
        lttng_ust_field_integer(uint64_t, active_ns, active_ns)))

#endif

#include <lttng/tracepoint-event.h>
