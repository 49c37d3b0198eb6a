/* Keeps one open batch for each descriptor; see batch.h. Times are ticks (ticks.h) until the batch is told,
 * then offsets from its first read. */
#define _GNU_SOURCE
#include "batch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "layout.h"
#include "provider.h"
#include "ticks.h"

/* Clients on higher descriptors are not recorded at level lite. */
#define MOST_DESCRIPTORS 65536
#define MOST_NAMES 1024
/* TCP_ESTABLISHED of the kernel. */
#define ESTABLISHED 1
#define SECOND_NS UINT64_C(1000000000)
#define WAITED_NS SECOND_NS
/* Since a session has come; from one time to the next it is four times as long, up to the longest. */
#define TELL_AGAIN_NS (SECOND_NS / 20)
#define TELL_AGAIN_LONGEST_NS (10 * SECOND_NS)

struct batch {
    uint64_t client_id;
    /* When its address was told last: of which `telling` that is; likewise of a recording. */
    uint32_t told, recording;
    /* `executing`: the command after the last of `commands` is. Where a script takes long, Redis serves others meanwhile, and
     * writes nothing to its client. */
    uint8_t open, commands, encrypted, has_sent, executing;
    /* Who opened the connection; a replica takes what is replicated by it. */
    enum __attribute__((packed)) { BY_UNKNOWN, BY_CLIENT, BY_REPLICA, BY_SERVER } opened;
    uint32_t read_thread, write_thread;
    uint64_t begin, last, read_end, write_start, bytes_read, bytes_written;
    /* Since when a command of it has been put off, as clients are paused; 0: none is. */
    uint64_t postponed;
    /* In one place, as most batches have one command and memory is far away. */
    struct {
        uint64_t start, end;
        uint16_t number;
    } command[MOST_COMMANDS];
};

struct name {
    void *command;
    const char *text;
    uint32_t told;
    /* What replicas send alone. */
    enum { OF_CLIENTS, REPLICATES, ACKNOWLEDGES } use;
};

int batch_recording;
__thread struct transfer *transfer_of_thread;

/* Memory that takes no room until it is used. */
static struct batch *batches;
static int highest_fd;
/* A hash table; the number of a name is its place and 1. Only the main thread executes commands. */
static struct name names[MOST_NAMES];
static int names_used;
/* Names and addresses are told once for each value; batches of an earlier recording are void. */
static uint32_t telling = 1, recording = 1;
static uint64_t told_at, tell_after, looked_at;
static int was_on;
/* What the main thread has to tell. */
static struct told_batches kept;
static __thread int is_main __attribute__((tls_model("initial-exec")));
/* Descriptors whose batches I/O threads have completed; the main thread tells them. */
static int32_t left_to_main[MOST_DESCRIPTORS];
static uint32_t left_count;

static uint32_t thread_id(void)
{
    static __thread uint32_t id __attribute__((tls_model("initial-exec")));
    if (__builtin_expect(!id, 0))
        id = syscall(SYS_gettid);
    return id;
}

reason batch_prepare(void)
{
    if (batches)
        return NULL;
    void *memory = mmap(NULL, MOST_DESCRIPTORS * sizeof *batches, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return reason_of("no memory for batches: %s", strerror(errno));
    batches = memory;
    return NULL;
}

/* ---- telling --------------------------------------------------------------------------------------- */

uint64_t batch_tell_kept(void)
{
    uint64_t now = ticks_now();
    if (!kept.batches || !is_main)
        return now;
    for (uint32_t i = 0; i < kept.batches; i++)
        kept.age[i] = ns_of_ticks(now - kept.age[i]);
    lttng_ust_tracepoint(slowpath_redis, batches, &kept);
    kept.batches = kept.all_commands = 0;
    return now;
}

/* ---- names and addresses -------------------------------------------------------------------------- */

static int use_of(const char *text)
{
    if (!strcasecmp(text, "psync") || !strcasecmp(text, "sync"))
        return REPLICATES;
    return strcasecmp(text, "replconf") ? OF_CLIENTS : ACKNOWLEDGES;
}

static uint16_t number_of(void *command)
{
    if (!command)
        return 0;
    unsigned place = ((uintptr_t)command >> 4) % MOST_NAMES;
    const char *text = name_of_command(command);
    /* A module that is gone may leave its place to another command, under another name. */
    while (names[place].command && (names[place].command != command || names[place].text != text))
        place = (place + 1) % MOST_NAMES;
    struct name *name = &names[place];
    if (!name->command) {
        if (names_used == MOST_NAMES / 2)
            return 0;
        names_used++;
        *name = (struct name){command, text, 0, use_of(text)};
    }
    /* A session switches its events on one by one. */
    if (name->told != telling && lttng_ust_tracepoint_enabled(slowpath_redis, command_name)) {
        name->told = telling;
        lttng_ust_tracepoint(slowpath_redis, command_name, place + 1, text);
    }
    return place + 1;
}

struct address {
    char text[INET6_ADDRSTRLEN];
    uint16_t port;
};

static void read_address(int (*ask)(int, struct sockaddr *, socklen_t *), int fd, struct address *address)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_storage room;
    } socket;
    socklen_t size = sizeof socket;
    *address = (struct address){0};
    if (ask(fd, &socket.any, &size))
        return;
    if (socket.any.sa_family == AF_INET) {
        inet_ntop(AF_INET, &socket.v4.sin_addr, address->text, sizeof address->text);
        address->port = ntohs(socket.v4.sin_port);
    } else if (socket.any.sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &socket.v6.sin6_addr, address->text, sizeof address->text);
        address->port = ntohs(socket.v6.sin6_port);
    }
}

/* Ports on which this process was found to listen, a bit for each: I/O threads may add some, too. */
static uint32_t ports_listened_on[(UINT16_MAX + 1) / 32];
/* Listening sockets are looked for among descriptors up to so many above the clients'. */
#define DESCRIPTORS_ABOVE 1024

static int is_listened_on(uint16_t port)
{
    return __atomic_load_n(&ports_listened_on[port / 32], __ATOMIC_RELAXED) >> port % 32 & 1;
}

/* Connections that clients opened are at a port that this process listens on. Others it has opened itself: clients of
 * that kind are links to a primary. */
static int has_opened(const struct address *own)
{
    /* A Unix socket. */
    if (!own->port)
        return 0;
    for (int fd = 0; !is_listened_on(own->port) && fd <= highest_fd + DESCRIPTORS_ABOVE; fd++) {
        int listens = 0;
        socklen_t size = sizeof listens;
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) || !listens)
            continue;
        struct address at;
        read_address(getsockname, fd, &at);
        __atomic_fetch_or(&ports_listened_on[at.port / 32], 1u << at.port % 32, __ATOMIC_RELAXED);
    }
    return !is_listened_on(own->port);
}

static int is_opened_by_server(struct batch *batch, int fd, const struct address *own)
{
    if (batch->opened == BY_UNKNOWN) {
        struct address here;
        if (!own)
            read_address(getsockname, fd, &here);
        batch->opened = has_opened(own ? own : &here) ? BY_SERVER : BY_CLIENT;
    }
    return batch->opened == BY_SERVER;
}

/* By the kernel's account of the connection, which knows nothing of what OpenSSL made of it. */
static int64_t bytes_before(const struct batch *batch, int fd)
{
    struct tcp_info connection;
    socklen_t size = sizeof connection;
    const socklen_t NEEDED = offsetof(struct tcp_info, tcpi_bytes_received) + sizeof connection.tcpi_bytes_received;
    int waiting, still_waiting;
    if (batch->encrypted || ioctl(fd, FIONREAD, &waiting) ||
        getsockopt(fd, IPPROTO_TCP, TCP_INFO, &connection, &size) || size < NEEDED ||
        ioctl(fd, FIONREAD, &still_waiting))
        return -1;
    /* More came in between, or the end, which counts as a byte. */
    if (waiting != still_waiting || connection.tcpi_state != ESTABLISHED)
        return -1;
    return (int64_t)connection.tcpi_bytes_received - waiting - (int64_t)batch->bytes_read;
}

static void tell_address(struct batch *batch, int fd, int64_t before)
{
    /* It is of the batch that is told next; and the descriptor may have been another client's. */
    batch_tell_kept();
    struct address peer, own;
    read_address(getpeername, fd, &peer);
    read_address(getsockname, fd, &own);
    lttng_ust_tracepoint(slowpath_redis, client_address, fd, batch->client_id, peer.text, peer.port, own.text,
                         own.port, before, is_opened_by_server(batch, fd, &own));
}

void batch_tell_link(int fd, const void *link)
{
    /* By descriptor: the link whose ends were told last, and of which `telling` that is. Only the main thread has links. */
    static struct {
        const void *link;
        uint32_t told;
    } links[MOST_DESCRIPTORS];
    if ((unsigned)fd >= MOST_DESCRIPTORS || (links[fd].link == link && links[fd].told == telling))
        return;
    int error = errno;
    struct address peer, own;
    read_address(getpeername, fd, &peer);
    read_address(getsockname, fd, &own);
    errno = error;
    /* On its way still: it has no other end. */
    if (!peer.port)
        return;
    links[fd].link = link;
    links[fd].told = telling;
    lttng_ust_tracepoint(slowpath_redis, bus_address, fd, peer.text, peer.port, own.text, own.port);
}

/* The descriptor's batch, made this client's; NULL: it is not recorded. */
static struct batch *batch_of(int fd, uint64_t client_id)
{
    if ((unsigned)fd >= MOST_DESCRIPTORS)
        return NULL;
    struct batch *batch = &batches[fd];
    if (__builtin_expect(batch->client_id != client_id || batch->recording != recording, 0)) {
        memset(batch, 0, offsetof(struct batch, command));
        batch->client_id = client_id;
        batch->recording = recording;
        /* I/O threads may see the same; whoever is last is near enough for what it is used for. */
        if (fd > highest_fd)
            highest_fd = fd;
    }
    return batch;
}

void batch_tell_client(int fd, uint64_t client_id)
{
    /* An I/O thread knows nothing of what is kept of the client: the main thread will tell it. */
    if (batch_recording && !is_main)
        return;
    struct batch *batch = batch_of(fd, client_id);
    if (batch && __builtin_expect(batch->told != telling, 0) &&
        lttng_ust_tracepoint_enabled(slowpath_redis, client_address)) {
        int error = errno;
        batch->told = telling;
        tell_address(batch, fd, bytes_before(batch, fd));
        errno = error;
    }
}

void batch_tell_new_client(int fd, uint64_t client_id)
{
    struct batch *batch = batch_of(fd, client_id);
    if (!batch)
        return;
    int error = errno;
    batch->told = telling;
    /* Where no batches are put together yet, nobody knows how much will have been read when they are. */
    tell_address(batch, fd, batch_recording ? 0 : -1);
    errno = error;
}

/* ---- batches -------------------------------------------------------------------------------------- */

/* Adds the batch to those kept; of its age, when it began is known. */
static void keep(const struct batch *batch, int fd, enum batch_end why, uint64_t now)
{
    uint32_t unit = 1;
    /* Signed numbers, and no division where it can be helped: both matter here. */
    double units_per_tick = ns_per_tick;
    for (uint64_t ns = ns_of_ticks(now - batch->begin); __builtin_expect(ns > UINT32_MAX, 0); ns /= 1000) {
        unit *= 1000;
        units_per_tick /= 1000;
    }
#define OFFSET(time) ((time) > batch->begin ? (uint32_t)((int64_t)((time) - batch->begin) * units_per_tick) : 0)
    uint32_t i = kept.batches++, first = kept.all_commands;
    kept.client_id[i] = batch->client_id;
    kept.age[i] = batch->begin;
    kept.bytes_read[i] = batch->bytes_read;
    kept.bytes_written[i] = batch->bytes_written;
    kept.fd[i] = fd;
    kept.read_thread[i] = batch->read_thread;
    kept.write_thread[i] = batch->write_thread;
    kept.unit_ns[i] = unit;
    kept.read_end[i] = OFFSET(batch->read_end);
    kept.write_start[i] = OFFSET(batch->write_start);
    kept.ended[i] = OFFSET(now);
    kept.ended_by[i] = why;
    kept.commands[i] = batch->commands;
    kept.all_commands += batch->commands;
    for (int k = 0; k < batch->commands; k++) {
        uint32_t start = OFFSET(batch->command[k].start);
        kept.command[first + k] = batch->command[k].number;
        kept.start[first + k] = start;
        kept.duration[first + k] = OFFSET(batch->command[k].end) - start;
    }
#undef OFFSET
}

static void open_batch(struct batch *batch, uint64_t now)
{
    batch->open = 1;
    batch->commands = 0;
    batch->read_thread = batch->write_thread = 0;
    batch->executing = 0;
    batch->begin = batch->last = now;
    batch->read_end = batch->write_start = batch->bytes_read = batch->bytes_written = batch->postponed = 0;
}

/* In the main thread alone, so that a client's batches and address are told in their order. */
static void tell(struct batch *batch, int fd, enum batch_end why, uint64_t now)
{
    batch->open = 0;
    batch_tell_client(fd, batch->client_id);
    if (kept.batches == MOST_BATCHES || kept.all_commands + batch->commands > MOST_COMMANDS_TOLD)
        batch_tell_kept();
    keep(batch, fd, why, now);
    uint64_t postponed = batch->postponed;
    if (__builtin_expect(postponed && why != BATCH_CLIENT_FREED, 0)) {
        /* The commands before the one that is put off were answered. */
        open_batch(batch, postponed);
        batch->postponed = postponed;
    }
}

int batch_turn_end(void)
{
    for (uint32_t i = 0; __builtin_expect(i < left_count, 0); i++) {
        int fd = left_to_main[i];
        if (batches[fd].open)
            tell(&batches[fd], fd, BATCH_WRITTEN, batches[fd].last);
    }
    left_count = 0;
    return kept.batches != 0;
}

/* Bytes that were read since the last look belong to the batch that is open now. */
static void take_bytes(struct batch *batch, struct transfer *transfer, uint64_t now)
{
    int64_t bytes = transfer->bytes > 0 ? transfer->bytes - transfer->told : 0;
    if (!bytes)
        return;
    transfer->told = transfer->bytes;
    batch->bytes_read += bytes;
    batch->encrypted |= transfer->encrypted;
    batch->read_thread = thread_id();
    if (!batch->read_end)
        batch->read_end = now;
}

void batch_read_begin(int fd, uint64_t client_id)
{
    struct batch *batch = batch_of(fd, client_id);
    if (batch && !batch->open)
        open_batch(batch, ticks_now());
}

static int wants_no_reply(struct batch *batch, int fd)
{
    if (__builtin_expect(batch->opened == BY_UNKNOWN, 0)) {
        int error = errno;
        is_opened_by_server(batch, fd, NULL);
        errno = error;
    }
    return batch->opened >= BY_REPLICA;
}

void batch_read_end(const struct transfer *transfer, uint64_t client_id)
{
    struct batch *batch = batch_of(transfer->fd, client_id);
    if (!batch || !batch->open)
        return;
    struct transfer untold = *transfer;
    if (untold.bytes > untold.told) {
        uint64_t now = ticks_now();
        take_bytes(batch, &untold, now);
        batch->last = now;
    }
    if (batch->commands && is_main && wants_no_reply(batch, transfer->fd)) {
        tell(batch, transfer->fd, BATCH_UNANSWERED, batch->last);
        return;
    }
    /* Nothing was there after all, or the I/O threads shall read it. */
    if (!batch->bytes_read && !batch->commands && !batch->bytes_written && !batch->postponed)
        batch->open = 0;
}

struct batch *batch_command_begin(int fd, uint64_t client_id)
{
    struct batch *batch = batch_of(fd, client_id);
    if (!batch)
        return NULL;
    struct transfer *transfer = transfer_of_thread;
    int reading = transfer && transfer->fd == fd;
    /* The clock costs more than all else here, so within one read a command begins where the one before
     * it ended. */
    if (reading && transfer->told && batch->open && batch->commands < MOST_COMMANDS) {
        batch->command[batch->commands].start = batch->last;
        batch->executing = 1;
        return batch;
    }
    uint64_t now = ticks_now();
    if (batch->open && batch->commands == MOST_COMMANDS)
        tell(batch, fd, BATCH_FULL, now);
    if (!batch->open)
        open_batch(batch, now);
    if (reading)
        take_bytes(batch, transfer, now);
    batch->last = now;
    batch->postponed = 0;
    batch->executing = 1;
    batch->command[batch->commands].start = now;
    return batch;
}

void batch_command_postponed(struct batch *batch, uint64_t client_id)
{
    if (batch->client_id != client_id || batch->recording != recording || !batch->open)
        return;
    batch->executing = 0;
    batch->postponed = batch->command[batch->commands].start;
}

/* What a replica sends after its handshake has no reply; what is written to it is replicated. Who begins with REPLCONF and
 * not with PING had its handshake before the recording. One that sends anything else is none: it was refused, or is a
 * primary that asks for an acknowledgement. */
static void note_replica(struct batch *batch, uint16_t number)
{
    int use = number ? names[number - 1].use : OF_CLIENTS;
    if (use == REPLICATES || (use == ACKNOWLEDGES && !batch->has_sent))
        batch->opened = BY_REPLICA;
    else if (__builtin_expect(use == OF_CLIENTS && batch->opened == BY_REPLICA, 0))
        batch->opened = BY_UNKNOWN;
    batch->has_sent = 1;
}

void batch_command_end(struct batch *batch, uint64_t client_id, void *command)
{
    /* The client may be gone, or have been told of meanwhile. */
    if (batch->client_id != client_id || batch->recording != recording || !batch->open ||
        batch->commands == MOST_COMMANDS)
        return;
    int i = batch->commands++;
    batch->executing = 0;
    batch->last = ticks_now();
    batch->command[i].end = batch->last;
    batch->command[i].number = number_of(command);
    note_replica(batch, batch->command[i].number);
}

void batch_write_begin(int fd, uint64_t client_id)
{
    struct batch *batch = batch_of(fd, client_id);
    if (!batch)
        return;
    uint64_t now = ticks_now();
    if (!batch->open)
        open_batch(batch, now);
    if (!batch->write_start)
        batch->write_start = now;
}

void batch_write_end(const struct transfer *transfer, uint64_t client_id, int more)
{
    struct batch *batch = batch_of(transfer->fd, client_id);
    if (!batch || !batch->open)
        return;
    if (transfer->bytes > 0) {
        batch->bytes_written += transfer->bytes;
        batch->write_thread = thread_id();
    }
    batch->last = ticks_now();
    /* There was nothing to write, as when a replica is ready for what comes: what it sends next begins then. */
    if (!more && !batch->commands && !batch->executing && !batch->bytes_read && !batch->bytes_written && !batch->postponed) {
        batch->open = 0;
        return;
    }
    if (more || (!batch->commands && (!batch->bytes_written || batch->postponed)))
        return;
    if (is_main)
        tell(batch, transfer->fd, BATCH_WRITTEN, batch->last);
    else
        /* The main thread waits for this one before it goes on. */
        left_to_main[__atomic_fetch_add(&left_count, 1, __ATOMIC_RELAXED) % MOST_DESCRIPTORS] = transfer->fd;
}

void batch_client_freed(int fd, uint64_t client_id)
{
    if ((unsigned)fd >= MOST_DESCRIPTORS || batches[fd].client_id != client_id)
        return;
    struct batch *batch = &batches[fd];
    batch_turn_end();
    if (batch->open && batch->recording == recording && (batch->commands || batch->bytes_read))
        tell(batch, fd, BATCH_CLIENT_FREED, ticks_now());
    batch->open = 0;
    batch->client_id = 0;
    /* The descriptor may soon be another client's. */
    batch_tell_kept();
}

/* ---- at safe points ------------------------------------------------------------------------------- */

static void tell_those_that_wait(void)
{
    uint64_t now = ticks_now();
    for (int fd = 0; fd <= highest_fd; fd++) {
        struct batch *batch = &batches[fd];
        if (batch->open && batch->recording == recording && !batch->postponed && !batch->executing &&
            now > batch->last && ns_of_ticks(now - batch->last) > WAITED_NS)
            tell(batch, fd, BATCH_WAITED, now);
    }
}

/* Whether a session has come or gone since the last look: LTTng keeps a list of those that get an event, and makes it
 * anew then. One that comes while another goes on has been told nothing yet. */
static int sessions_have_changed(void)
{
    static const void *of_names, *of_addresses;
    const void *names = lttng_ust_tracepoint_slowpath_redis___command_name.probes;
    const void *addresses = lttng_ust_tracepoint_slowpath_redis___client_address.probes;
    int changed = names != of_names || addresses != of_addresses;
    of_names = names;
    of_addresses = addresses;
    return changed;
}

void batch_look(int on, int batches_wanted)
{
    int calibrated = ticks_calibrate();
    is_main = 1;
    if (!on) {
        /* In a child that saves: its parent tells them. */
        kept.batches = kept.all_commands = left_count = 0;
        batch_recording = was_on = 0;
        return;
    }
    uint64_t now = clock_ns(CLOCK_MONOTONIC_COARSE);
    /* What is told at once may be told to nobody: LTTng calls tracepoints before the session takes any event, and
     * between the two the process asks the session daemon. */
    if (sessions_have_changed() || !was_on)
        tell_after = 0;
    if (now - told_at >= tell_after) {
        told_at = now;
        telling++;
        tell_after = tell_after ? 4 * tell_after : TELL_AGAIN_NS;
        if (tell_after > TELL_AGAIN_LONGEST_NS)
            tell_after = TELL_AGAIN_LONGEST_NS;
    }
    /* In the first milliseconds after the start there are no batches yet. */
    batches_wanted = batches_wanted && calibrated;
    if (batches_wanted && !batch_recording)
        recording++;
    was_on = 1;
    batch_recording = batches_wanted;
    if (batch_recording && now - looked_at > SECOND_NS / 4) {
        looked_at = now;
        tell_those_that_wait();
    }
}
