/* Learns the layout of Redis's structures; see layout.h. Memory of unknown meaning is read by writing it
 * to a pipe, as the kernel then says where there is none, instead of a crash. */
#define _GNU_SOURCE
#include "layout.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Where the searched fields lie at most, in bytes: twice what 6.2 and 7.0 need. */
#define CLIENT_BYTES 512
#define CONNECTION_BYTES 128
#define COMMAND_BYTES 800
#define WORDS (CLIENT_BYTES / 8)
#define SECONDS_TO_LEARN 10

struct layout layout;
enum learning learning;

static void *(*create_connection)(int fd);
static void *(*create_client)(void *connection);

static struct probe {
    int our_end, fd;
    void *client;
    int connection_in_client, client_in_connection;
    /* Bit i: the int at offset 4 i of the connection equals fd. */
    uint32_t fd_in_connection;
    /* For each word of the client that may be its command: where that has its name; else -1. */
    int name_in_command[WORDS];
    int seen;
    char reply[64];
    size_t reply_bytes;
} probes[2];

static int pipe_ends[2];
static struct timespec begun;
/* Redis needs two turns of its event loop to see that the two clients have gone: no recording shows it. */
static int turns_until_freed;

/* Copies what can be read of the bytes at `address`; how many that is. */
static size_t read_memory(const void *address, void *into, size_t size)
{
    if ((uintptr_t)address < 4096 || (uintptr_t)address >> 47)
        return 0;
    ssize_t there = write(pipe_ends[1], address, size);
    return there > 0 && read(pipe_ends[0], into, there) == there ? (size_t)there : 0;
}

static int points_to(const void *pointer, const void *bytes, size_t size)
{
    char there[16];
    return size <= sizeof there && read_memory(pointer, there, size) == size && !memcmp(there, bytes, size);
}

static int points_to_text(const void *pointer, const char *text)
{
    return points_to(pointer, text, strlen(text) + 1);
}

/* The offset at which the structure holds the pointer: -1 where none or more than one does. */
static int only_place(const void *structure, size_t bytes, const void *pointer)
{
    void *words[WORDS] = {0};
    size_t there = read_memory(structure, words, bytes);
    int place = -1;
    for (size_t i = 0; i < there / sizeof *words; i++)
        if (words[i] == pointer) {
            if (place >= 0)
                return -1;
            place = i * sizeof *words;
        }
    return place;
}

/* The field that names a command: the full name from 7.0 on, before that the first one. */
static int find_name(const void *command)
{
    const char *words[COMMAND_BYTES / 8] = {0};
    size_t there = read_memory(command, words, sizeof words);
    for (size_t i = 0; i < there / sizeof *words; i++)
        if (points_to_text(words[i], "client|id"))
            return i * sizeof *words;
    return there && points_to_text(words[0], "client") ? 0 : -1;
}

reason layout_prepare(void)
{
    size_t size;
    create_connection = (void *)image_function("connCreateAcceptedSocket", &size);
    create_client = (void *)image_function("createClient", &size);
    if (!create_connection || !create_client)
        return "the program exports no function connCreateAcceptedSocket or createClient";
    return NULL;
}

static reason connect_probe(struct probe *probe)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends))
        return reason_of("no socket pair: %s", strerror(errno));
    probe->our_end = ends[0];
    probe->fd = ends[1];
    void *connection = create_connection(probe->fd);
    probe->client = connection ? create_client(connection) : NULL;
    if (!probe->client)
        return "Redis accepted no connection of the agent";
    probe->connection_in_client = only_place(probe->client, CLIENT_BYTES, connection);
    probe->client_in_connection = only_place(connection, CONNECTION_BYTES, probe->client);
    int words[CONNECTION_BYTES / 4];
    size_t there = read_memory(connection, words, sizeof words);
    for (size_t i = 0; i < there / sizeof *words; i++)
        probe->fd_in_connection |= words[i] == probe->fd ? 1u << i : 0;
    static const char question[] = "*2\r\n$6\r\nCLIENT\r\n$2\r\nID\r\n";
    if (write(probe->our_end, question, sizeof question - 1) != sizeof question - 1)
        return reason_of("a connection of the agent: %s", strerror(errno));
    return NULL;
}

static void forget_pipe(void)
{
    for (int i = 0; i < 2; i++)
        close(pipe_ends[i]);
}

static void forget_probes(void)
{
    forget_pipe();
    for (int i = 0; i < 2; i++) {
        /* Redis sees the end of the connection and frees the client. */
        if (probes[i].our_end > 0)
            close(probes[i].our_end);
        probes[i].our_end = -1;
    }
}

static reason failed(reason why)
{
    forget_probes();
    learning = LEARNING_FAILED;
    return why;
}

reason layout_begin(void)
{
    if (pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK)) {
        learning = LEARNING_FAILED;
        return reason_of("no pipe: %s", strerror(errno));
    }
    clock_gettime(CLOCK_MONOTONIC_COARSE, &begun);
    learning = LEARNING;
    for (int i = 0; i < 2; i++) {
        reason why = connect_probe(&probes[i]);
        if (why)
            return failed(why);
    }
    return NULL;
}

void layout_see_command(const void *client)
{
    for (int i = 0; i < 2; i++) {
        struct probe *probe = &probes[i];
        if (probe->client != client || probe->seen)
            continue;
        void *words[WORDS] = {0};
        size_t there = read_memory(client, words, sizeof words);
        for (size_t k = 0; k < WORDS; k++)
            probe->name_in_command[k] = k < there / sizeof *words ? find_name(words[k]) : -1;
        probe->seen = 1;
    }
}

/* The reply is ":ID", or an error where a password is asked for: then only the order of ids is checked. */
static int id_is_first_field(const struct probe *probe)
{
    uint64_t first_field;
    if (read_memory(probe->client, &first_field, sizeof first_field) != sizeof first_field)
        return 0;
    return probe->reply[0] != ':' || strtoull(probe->reply + 1, NULL, 10) == first_field;
}

/* Several fields hold the command while it executes. One is empty afterwards: what is executed. The
 * first of those that are kept says what was sent last. */
static reason find_commands(void)
{
    layout.client_command = layout.client_sent_command = layout.command_name = -1;
    for (int k = 0; k < WORDS; k++) {
        void *now[2];
        int name = probes[0].name_in_command[k];
        if (name < 0 || name != probes[1].name_in_command[k])
            continue;
        for (int i = 0; i < 2; i++)
            if (read_memory((char *)probes[i].client + 8 * k, &now[i], 8) != 8)
                return "the memory of a client cannot be read";
        if (layout.command_name >= 0 && layout.command_name != name)
            return "the name of a command was not found in one place";
        layout.command_name = name;
        if (!now[0] != !now[1] || (!now[0] && layout.client_command >= 0))
            return "the command of a client was not found in one place";
        if (!now[0])
            layout.client_command = 8 * k;
        else if (layout.client_sent_command < 0)
            layout.client_sent_command = 8 * k;
    }
    if (layout.client_command < 0 || layout.client_sent_command < 0)
        return "the command of a client was not found (is CLIENT renamed?)";
    return NULL;
}

static reason conclude(void)
{
    const struct probe *first = &probes[0], *second = &probes[1];
    uint32_t fd_in_connection = first->fd_in_connection & second->fd_in_connection;
    uint64_t ids[2] = {0};
    for (int i = 0; i < 2; i++)
        read_memory(probes[i].client, &ids[i], sizeof ids[i]);
    if (!id_is_first_field(first) || !id_is_first_field(second) || ids[1] != ids[0] + 1)
        return "a client's id is not where it should be";
    layout.client_connection = first->connection_in_client;
    layout.connection_client = first->client_in_connection;
    if (layout.client_connection < 0 || layout.client_connection != second->connection_in_client ||
        layout.connection_client < 0 || layout.connection_client != second->client_in_connection)
        return "client and connection do not point to each other in one place";
    if (__builtin_popcount(fd_in_connection) != 1)
        return "the descriptor of a connection was not found in one place";
    layout.connection_fd = 4 * __builtin_ctz(fd_in_connection);
    return find_commands();
}

/* Has the probe been executed and answered? */
static int answered(struct probe *probe)
{
    size_t room = sizeof probe->reply - 1 - probe->reply_bytes;
    ssize_t bytes = room ? read(probe->our_end, probe->reply + probe->reply_bytes, room) : 0;
    probe->reply_bytes += bytes > 0 ? bytes : 0;
    return probe->seen && (memchr(probe->reply, '\n', probe->reply_bytes) || !room);
}

reason layout_continue(void)
{
    if (turns_until_freed > 0) {
        learning = --turns_until_freed ? LEARNING : LEARNED;
        return NULL;
    }
    int all_answered = answered(&probes[0]) & answered(&probes[1]);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    if (!all_answered && now.tv_sec - begun.tv_sec > SECONDS_TO_LEARN)
        return failed("CLIENT ID was not answered in 10 s");
    if (!all_answered)
        return NULL;
    reason why = conclude();
    if (why)
        return failed(why);
    forget_probes();
    turns_until_freed = 3;
    return NULL;
}

int layout_points_to_bytes(const void *pointer, const char *text)
{
    if (pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK))
        return 0;
    int does = points_to(pointer, text, strlen(text));
    forget_pipe();
    return does;
}
