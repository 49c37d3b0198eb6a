/* Makes the shared memory of this process, and lets it be found: a memfd named slowpath-probes, which others find
 * among /proc/PID/fd and which goes when the process goes, or a file in the folder that SLOWPATH_PROBES_DIR names,
 * which stays. Untouched pages cost nothing; a memfd cannot run full under the program, and room for a file is
 * reserved. Nothing here fails visibly: a program without shared memory is one whose probes are off. */
#define _GNU_SOURCE
#include "memory.h"

#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SLOTS = 4096, SPARES = 4096 };

static struct slowpath_probes_header *memory;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int descriptor = -1; /* of the memfd, by which it is found */
static struct stat descriptor_is;

void memory_say(const char *format, ...)
{
    const char *wanted = secure_getenv("SLOWPATH_PROBES_VERBOSE");
    if (!wanted || !*wanted || strcmp(wanted, "0") == 0)
        return;
    char line[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    dprintf(2, "slowpath-probes: %s\n", line);
}

/* Everything of the header but what differs between a parent and its child. */
static struct slowpath_probes_header layout(void)
{
    long processors = sysconf(_SC_NPROCESSORS_CONF);
    uint64_t line = SLOWPATH_PROBES_LINE, slots = SLOTS;
    const char *wanted = secure_getenv("SLOWPATH_PROBES_SLOTS");
    if (wanted) {
        uint64_t at_least = strtoul(wanted, NULL, 10);
        for (slots = 2; slots < at_least && slots < 1 << 20;)
            slots *= 2;
    }
    struct slowpath_probes_header header = {
        .version = SLOWPATH_PROBES_VERSION,
        .header_bytes = SLOWPATH_PROBES_HEADER,
        .processors = processors > 0 && processors < 65536 ? (uint32_t)processors : 1,
        .types = SLOWPATH_PROBES_TYPES,
        .capacity = SLOWPATH_PROBES_CAPACITY,
        .spares = SPARES,
        .probes_offset = SLOWPATH_PROBES_HEADER,
        .node_stride = sizeof(struct slowpath_probes_node),
    };
    uint64_t queues = (uint64_t)header.processors * header.types;
    while (slots > 2 && queues * slots + SPARES > SLOWPATH_SLOT_NODE_MASK)
        slots /= 2;
    header.slots = (uint32_t)slots;
    header.queues_offset = header.probes_offset + header.capacity * sizeof(struct slowpath_probes_entry);
    header.queue_stride = (sizeof(struct slowpath_probes_queue) + slots * 8 + line - 1) / line * line;
    header.nodes_offset = (header.queues_offset + queues * header.queue_stride + 127) & ~127ull;
    header.total_bytes = (header.nodes_offset + (queues * slots + SPARES) * header.node_stride + 4095) & ~4095ull;
    header.clock = clock_of_this_machine();
    clock_pair(header.clock, &header.base_ticks, &header.base_ns);
    return header;
}

/* The file that the user wants the memory to be in, with room reserved; -1 if there is none or it cannot be. */
static int create_file(const struct slowpath_probes_header *header)
{
    char path[4096];
    const char *folder = secure_getenv("SLOWPATH_PROBES_DIR");
    if (!folder || !*folder)
        return -1;
    if ((size_t)snprintf(path, sizeof path, "%s/" SLOWPATH_PROBES_NAME ".%d", folder, (int)getpid()) >= sizeof path)
        return -1;
    unlink(path); /* of an earlier process with this number */
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    int problem = file < 0 ? errno : posix_fallocate(file, 0, (off_t)header->total_bytes);
    if (problem) {
        memory_say("%s cannot be made, so there is only a memfd: %s", path, strerror(problem));
        if (file >= 0) {
            unlink(path);
            close(file);
        }
        return -1;
    }
    return file;
}

/* Descriptors 0 to 2 may be closed in this process, and are nobody's to take. */
static int create_memfd(const struct slowpath_probes_header *header)
{
    int made = memfd_create(SLOWPATH_PROBES_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (made >= 0 && made <= 2) {
        int higher = fcntl(made, F_DUPFD_CLOEXEC, 3);
        close(made);
        made = higher;
    }
    if (made >= 0 && (ftruncate(made, (off_t)header->total_bytes) < 0 ||
                      fcntl(made, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)) {
        close(made);
        made = -1;
    }
    return made;
}

/* Maps new memory; its header is complete but for the magic, which makes it valid. */
static struct slowpath_probes_header *create(struct slowpath_probes_header header)
{
    int made = create_file(&header);
    bool is_file = made >= 0;
    if (!is_file)
        made = create_memfd(&header);
    void *mapped = made < 0 ? MAP_FAILED
                            : mmap(NULL, header.total_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, made, 0);
    if (mapped == MAP_FAILED) {
        memory_say("no memory can be shared, so the probes stay off: %s", strerror(errno));
        mapped = mmap(NULL, header.total_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    descriptor = -1;
    if (made >= 0 && !is_file && fstat(made, &descriptor_is) == 0)
        descriptor = made;
    else if (made >= 0)
        close(made);
    if (mapped == MAP_FAILED)
        return NULL;
    struct slowpath_probes_header *shared = mapped;
    header.process = (uint32_t)getpid();
    *shared = header;
    int comm = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
    if (comm >= 0) {
        ssize_t length = read(comm, shared->program, sizeof shared->program - 1);
        shared->program[length > 0 ? length - 1 : 0] = 0; /* without the line's end */
        close(comm);
    }
    return shared;
}

/* The child's own memory, at the place of the parent's, as probes point there: with the parent's probes, switched as they
 * are, and empty queues. Only system calls, as other threads of the parent may have held any lock. */
static void after_fork(void)
{
    struct stat is;
    struct slowpath_probes_header *parents = memory, header = *parents;
    if (descriptor >= 0 && fstat(descriptor, &is) == 0 && is.st_ino == descriptor_is.st_ino &&
        is.st_dev == descriptor_is.st_dev)
        close(descriptor);
    header.magic = header.refused = header.spare_nodes = header.spares_begun = 0;
    struct slowpath_probes_header *own = create(header);
    if (own)
        memcpy(view_entries(own), view_entries(parents), header.capacity * sizeof(struct slowpath_probes_entry));
    if (own && mremap(own, header.total_bytes, header.total_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, parents) != MAP_FAILED)
        __atomic_store_n(&memory->magic, SLOWPATH_PROBES_MAGIC, __ATOMIC_RELEASE);
    else /* never into the parent's queues as if we were it: zeros, in which all is off and no table has room */
        mmap(parents, header.total_bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    probes_forget_parent();
}

static void make(void)
{
    static struct slowpath_probes_header nothing; /* all is off, and no table has room */
    memory = create(layout());
    if (!memory) {
        memory = &nothing;
        return;
    }
    const char *wanted = secure_getenv("SLOWPATH_PROBES");
    const char *problem = wanted && *wanted ? view_switch(memory, wanted, SLOWPATH_PROBES_AS_WRITTEN) : NULL;
    if (problem)
        dprintf(2, "slowpath-probes: SLOWPATH_PROBES=%s switches nothing on\nhint: %s\n", wanted, problem);
    __atomic_store_n(&memory->magic, SLOWPATH_PROBES_MAGIC, __ATOMIC_RELEASE);
    pthread_atfork(NULL, NULL, after_fork);
}

struct slowpath_probes_header *memory_of_this_process(void)
{
    pthread_once(&once, make);
    return memory;
}

/* Before main, so that the process is found, though it may reach its first probe late. */
static __attribute__((constructor)) void begin(void)
{
    memory_of_this_process();
}

/* The stack's links lie in the nodes: a spare one has no slot whose losses it would have to know. */
uint32_t memory_take_spare(void)
{
    uint32_t first = memory->processors * memory->types * memory->slots;
    uint64_t top = __atomic_load_n(&memory->spare_nodes, __ATOMIC_ACQUIRE);
    while ((uint32_t)top) {
        uint32_t node = (uint32_t)top - 1;
        uint64_t below = __atomic_load_n(&view_nodes(memory)[node].sacrificed, __ATOMIC_RELAXED);
        if (__atomic_compare_exchange_n(&memory->spare_nodes, &top, ((top >> 32) + 1) << 32 | (uint32_t)below, 0,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return node;
    }
    uint32_t begun = __atomic_load_n(&memory->spares_begun, __ATOMIC_RELAXED);
    while (begun < memory->spares)
        if (__atomic_compare_exchange_n(&memory->spares_begun, &begun, begun + 1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return first + begun;
    return NO_SPARE;
}

void memory_give_spare(uint32_t node)
{
    uint64_t top = __atomic_load_n(&memory->spare_nodes, __ATOMIC_ACQUIRE), next;
    do {
        __atomic_store_n(&view_nodes(memory)[node].sacrificed, (uint32_t)top, __ATOMIC_RELAXED);
        next = ((top >> 32) + 1) << 32 | (node + 1);
    } while (!__atomic_compare_exchange_n(&memory->spare_nodes, &top, next, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
}
