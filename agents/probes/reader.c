/* The reader's side (slowpath_probes_reader.h): finds the memory of a process, checks it, takes records from its queues in
 * turn. The memory may be damaged or of another version: nothing in it is trusted before it is checked, and a node's number
 * is only used within bounds. */
#define _GNU_SOURCE
#include "slowpath_probes_reader.h"

#include "clock.h"
#include "view.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct slowpath_reader {
    struct slowpath_probes_header *header;
    /* As checked: the header itself may change. */
    struct slowpath_probes_header is;
    uint32_t turn; /* the queue whose turn it is */
    int process;   /* a pidfd; -1: not known */
    bool ended;    /* before we came */
};

static void say(char *message, size_t capacity, const char *what)
{
    snprintf(message, capacity, "%s", what);
}

/* What does not fit together in a header; NULL if all does. */
static const char *complaint(const struct slowpath_probes_header *is, uint64_t bytes)
{
    uint64_t queues = (uint64_t)is->processors * is->types;
    if (is->version != SLOWPATH_PROBES_VERSION)
        return "the probes have another format version than this reader";
    if (is->header_bytes < sizeof *is || is->total_bytes > bytes || is->types != SLOWPATH_PROBES_TYPES ||
        is->processors == 0 || is->processors > 65535 || is->slots < 2 || is->slots & (is->slots - 1) ||
        is->capacity > 65536 || is->node_stride != sizeof(struct slowpath_probes_node) ||
        queues * is->slots + is->spares > SLOWPATH_SLOT_NODE_MASK || is->probes_offset % 64 || is->queues_offset % 64 ||
        is->queue_stride % 64 || is->nodes_offset % 64 ||
        is->queue_stride < sizeof(struct slowpath_probes_queue) + is->slots * 8ull ||
        is->probes_offset > bytes || is->probes_offset + is->capacity * sizeof(struct slowpath_probes_entry) > bytes ||
        is->queue_stride > bytes || is->queues_offset > bytes || is->queues_offset + queues * is->queue_stride > bytes ||
        is->nodes_offset > bytes || is->nodes_offset + (queues * is->slots + is->spares) * is->node_stride > bytes)
        return "the memory of the probes is damaged: its header does not fit together";
    return NULL;
}

static struct slowpath_reader *opened(int file, char *message, size_t capacity)
{
    struct stat is;
    struct slowpath_reader *reader = calloc(1, sizeof *reader);
    const char *wrong = NULL;
    void *mapped = MAP_FAILED;
    if (!reader || fstat(file, &is) < 0 || is.st_size < SLOWPATH_PROBES_HEADER)
        wrong = "this is no memory of probes, or it is not complete yet";
    else if ((mapped = mmap(NULL, (size_t)is.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)) == MAP_FAILED)
        wrong = strerror(errno);
    close(file);
    if (!wrong) {
        reader->header = mapped;
        if (__atomic_load_n(&reader->header->magic, __ATOMIC_ACQUIRE) != SLOWPATH_PROBES_MAGIC)
            wrong = "this is no memory of probes, or it is not complete yet";
        else {
            reader->is = *reader->header;
            wrong = complaint(&reader->is, (uint64_t)is.st_size);
        }
    }
    if (!wrong) {
        reader->process = -1;
        return reader;
    }
    say(message, capacity, wrong);
    if (mapped != MAP_FAILED)
        munmap(mapped, (size_t)is.st_size);
    free(reader);
    return NULL;
}

struct slowpath_reader *slowpath_reader_open_file(const char *path, char *message, size_t capacity)
{
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) {
        say(message, capacity, strerror(errno));
        return NULL;
    }
    struct slowpath_reader *reader = opened(file, message, capacity);
    if (reader) {
        reader->process = (int)syscall(SYS_pidfd_open, reader->is.process, 0);
        reader->ended = reader->process < 0 && errno == ESRCH;
    }
    return reader;
}

/* The number that the process has in its own PID namespace, the last one of the line; 0 if that cannot be read. */
static uint32_t number_in_namespace(int pid)
{
    char path[64], line[256];
    unsigned long number = 0;
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "NSpid:", 6) == 0)
            number = strtoul(strrchr(line, '\t') ? strrchr(line, '\t') : "0", NULL, 10);
    if (file)
        fclose(file);
    return (uint32_t)number;
}

/* As opened, if it is the memory of this process: one inherited from a parent is not, as its header says. */
static struct slowpath_reader *opened_of(int file, int pid, char *message, size_t capacity)
{
    struct slowpath_reader *reader = opened(file, message, capacity);
    if (reader && reader->is.process != number_in_namespace(pid)) {
        slowpath_reader_close(reader);
        reader = NULL;
        say(message, capacity, "the probes of this process are not complete yet");
    }
    return reader;
}

/* Goes through the process's descriptors. */
static struct slowpath_reader *open_memfd(int pid, char *message, size_t capacity)
{
    char path[PATH_MAX], target[64];
    static const char name[] = "/memfd:" SLOWPATH_PROBES_NAME;
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *folder = opendir(path);
    if (!folder) {
        say(message, capacity, errno == ENOENT ? "there is no such process" : strerror(errno));
        return NULL;
    }
    struct slowpath_reader *reader = NULL;
    say(message, capacity, "this process has no probes");
    for (struct dirent *entry; !reader && (entry = readdir(folder));) {
        ssize_t length = readlinkat(dirfd(folder), entry->d_name, target, sizeof target);
        if (length < (ssize_t)sizeof name - 1 || strncmp(target, name, sizeof name - 1) != 0)
            continue;
        int file = openat(dirfd(folder), entry->d_name, O_RDWR | O_CLOEXEC);
        if (file < 0) {
            say(message, capacity, strerror(errno));
            continue;
        }
        reader = opened_of(file, pid, message, capacity);
    }
    closedir(folder);
    return reader;
}

/* A file of SLOWPATH_PROBES_DIR has no descriptor any more, but is mapped. Its path is that of the process's own root. */
static struct slowpath_reader *open_mapped(int pid, char *message, size_t capacity)
{
    char path[64], name[64], line[PATH_MAX + 128], target[sizeof line + 32];
    struct slowpath_reader *reader = NULL;
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    snprintf(name, sizeof name, "/" SLOWPATH_PROBES_NAME ".%u", number_in_namespace(pid));
    FILE *maps = fopen(path, "re");
    while (maps && !reader && fgets(line, sizeof line, maps)) {
        unsigned long inode = 0;
        struct stat is;
        int begin = 0;
        line[strcspn(line, "\n")] = 0;
        if (sscanf(line, "%*s %*s %*s %*s %lu %n", &inode, &begin) != 1 || line[begin] != '/' ||
            strlen(line + begin) < strlen(name) || strcmp(line + strlen(line) - strlen(name), name) != 0)
            continue;
        snprintf(target, sizeof target, "/proc/%d/root%s", pid, line + begin);
        int file = open(target, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (file < 0)
            say(message, capacity, strerror(errno));
        else if (fstat(file, &is) < 0 || is.st_ino != inode) /* removed, and another one is there */
            close(file);
        else
            reader = opened_of(file, pid, message, capacity);
    }
    if (maps)
        fclose(maps);
    return reader;
}

struct slowpath_reader *slowpath_reader_open(int pid, char *message, size_t capacity)
{
    /* First, so that it is the process that we open, though numbers are used again. */
    int process = (int)syscall(SYS_pidfd_open, pid, 0);
    struct slowpath_reader *reader = open_memfd(pid, message, capacity);
    if (!reader)
        reader = open_mapped(pid, message, capacity);
    if (reader)
        reader->process = process;
    else if (process >= 0)
        close(process);
    return reader;
}

void slowpath_reader_close(struct slowpath_reader *reader)
{
    if (reader->process >= 0)
        close(reader->process);
    munmap(reader->header, reader->is.total_bytes);
    free(reader);
}

static struct queue queue_number(struct slowpath_reader *reader, uint32_t number)
{
    char *base = (char *)reader->header;
    return (struct queue){(struct slowpath_probes_queue *)(base + reader->is.queues_offset + number * reader->is.queue_stride),
                          (struct slowpath_probes_node *)(base + reader->is.nodes_offset), number * reader->is.slots,
                          (uint32_t)__builtin_ctz(reader->is.slots),
                          reader->is.processors * reader->is.types * reader->is.slots + reader->is.spares};
}

size_t slowpath_reader_read(struct slowpath_reader *reader, struct slowpath_record *records, size_t capacity, size_t each)
{
    uint32_t queues = reader->is.processors * reader->is.types;
    uint64_t ticks, ns, base_ticks = reader->is.base_ticks;
    size_t count = 0;
    clock_pair(reader->is.clock, &ticks, &ns);
    for (uint32_t empty = 0; empty < queues && count < capacity; reader->turn = (reader->turn + 1) % queues) {
        struct queue queue = queue_number(reader, reader->turn);
        struct slowpath_probes_node node = {0};
        size_t from_this = 0;
        while (count < capacity && from_this < each && queue_take(&queue, &node)) {
            struct slowpath_record *record = &records[count++];
            uint8_t fields = node.field_count < SLOWPATH_PROBES_FIELDS ? node.field_count : SLOWPATH_PROBES_FIELDS;
            from_this++;
            *record = (struct slowpath_record){
                .timestamp_ns = reader->is.base_ns + (uint64_t)clock_ns((int64_t)(node.timestamp - base_ticks),
                                                                        ticks - base_ticks, ns - reader->is.base_ns),
                .thread = node.thread,
                .type = node.type,
                .probe = node.id,
                .processor = node.processor,
                .field_count = fields,
            };
            for (uint8_t field = 0; field < fields; field++) {
                bool duration = (node.type == 1 << 1 && field == 0) || (node.type == 1 << 2 && field % 2 == 1);
                record->fields[field] = duration ? (uint64_t)clock_ns((int64_t)node.fields[field], ticks - base_ticks,
                                                                      ns - reader->is.base_ns)
                                                 : node.fields[field];
            }
        }
        empty = from_this ? 0 : empty + 1;
    }
    return count;
}

void slowpath_reader_count(struct slowpath_reader *reader, struct slowpath_reader_counts *counts)
{
    struct queue_counts all = {0};
    for (uint32_t number = 0; number < reader->is.processors * reader->is.types; number++) {
        struct queue queue = queue_number(reader, number);
        if (__atomic_load_n(&queue.shared->words[0], __ATOMIC_ACQUIRE) != 0) /* else it was never used */
            queue_count(&queue, &all);
    }
    *counts = (struct slowpath_reader_counts){
        all.published, all.taken, all.waiting, all.sacrificed,
        __atomic_load_n(&reader->header->refused, __ATOMIC_RELAXED),
        __atomic_load_n(&reader->header->probes_refused, __ATOMIC_RELAXED)};
}

const char *slowpath_reader_switch(struct slowpath_reader *reader, const char *probes, uint32_t every)
{
    return view_switch(reader->header, probes, every);
}

bool slowpath_reader_probe(struct slowpath_reader *reader, size_t index, struct slowpath_reader_probe *probe)
{
    struct slowpath_probes_entry *entries = (struct slowpath_probes_entry *)((char *)reader->header + reader->is.probes_offset);
    uint32_t key = index < reader->is.capacity ? __atomic_load_n(&entries[index].key, __ATOMIC_ACQUIRE) : 0;
    if (key == 0)
        return false;
    unsigned type = key >> 16 & 0x7fff;
    *probe = (struct slowpath_reader_probe){
        .type = type < SLOWPATH_PROBES_TYPES ? 1u << type : 0,
        .id = (uint16_t)key,
        .every = __atomic_load_n(&entries[index].every, __ATOMIC_RELAXED),
        .written = __atomic_load_n(&entries[index].written, __ATOMIC_ACQUIRE),
        .unavailable = type < SLOWPATH_PROBES_TYPES ? (int)__atomic_load_n(&reader->header->unavailable[type], __ATOMIC_RELAXED) : 0,
    };
    if (probe->written)
        memcpy(probe->name, entries[index].name, sizeof probe->name - 1);
    return true;
}

uint32_t slowpath_reader_process(struct slowpath_reader *reader)
{
    return reader->is.process;
}

const char *slowpath_reader_program(struct slowpath_reader *reader)
{
    reader->is.program[sizeof reader->is.program - 1] = 0;
    return reader->is.program;
}

bool slowpath_reader_runs(struct slowpath_reader *reader)
{
    struct pollfd ended = {reader->process, POLLIN, 0};
    return !reader->ended && (reader->process < 0 || poll(&ended, 1, 0) <= 0);
}

const char *slowpath_type_name(uint32_t type)
{
    return type && type < 1u << SLOWPATH_PROBES_TYPES ? slowpath_type_names[__builtin_ctz(type)] : "?";
}
