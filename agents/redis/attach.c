/* slowpath-redis-attach: brings the agent into a running redis-server, has it leave, or asks how far it is. Stops the main
 * thread alone, while that waits for events: it then holds no lock and is in none of Redis's functions.
 * There it has the thread call dlopen and a function of the agent, and lets it go on as if nothing
 * had happened. x86-64 Linux only, and only where the server uses the same C library file as this program.
 * Not part of the agent: it needs nothing of the server but the right to trace it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent.h"

#define LIBRARY "libslowpath_redis.so"
#define SECONDS_TO_FIND_IT_WAITING 10
/* Who only asks can ask again. */
#define SECONDS_TO_ASK 1
/* What a signal handler or the interrupted function may use below the stack pointer, and our texts. */
#define STACK_LEFT_ALONE 1024
#define TEXT_BYTES 8192
/* Functions that we have called return here, where there is nothing. */
#define NOWHERE 0ul
/* How long LTTng waits for its daemon, in ms, where the server's environment does not say it in so many bytes. */
#define PATIENCE "3000"
#define PATIENCE_BYTES 16

static pid_t server;
/* The main thread's registers where we stopped it; NULL: it is not stopped. */
static const struct user_regs_struct *before;

static void let_go(void)
{
    if (!before)
        return;
    ptrace(PTRACE_SETREGS, server, 0, before);
    ptrace(PTRACE_DETACH, server, 0, 0);
    before = NULL;
}

static _Noreturn void give_up(const char *hint, const char *format, ...)
{
    let_go();
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "slowpath-redis-attach: ");
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n%s%s%s", hint ? "hint: " : "", hint ? hint : "", hint ? "\n" : "");
    exit(1);
}

static double milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

/* ---- where the server has a function of the C library ------------------------------------------- */

struct mapping {
    unsigned long begin, end, offset, inode;
    unsigned major, minor;
};

/* Goes through a process's mapped files until one is `wanted`. */
static int find_mapping(const char *process, int (*wanted)(const struct mapping *, const void *),
                        const void *argument, struct mapping *found)
{
    char path[64], line[PATH_MAX + 128];
    snprintf(path, sizeof path, "/proc/%s/maps", process);
    FILE *maps = fopen(path, "re");
    if (!maps)
        give_up("is the number of the process right, and may you trace it?", "%s: %s", path, strerror(errno));
    int is_found = 0;
    while (!is_found && fgets(line, sizeof line, maps))
        is_found = sscanf(line, "%lx-%lx %*s %lx %x:%x %lu", &found->begin, &found->end, &found->offset,
                          &found->major, &found->minor, &found->inode) == 6 &&
                   wanted(found, argument);
    fclose(maps);
    return is_found;
}

static int holds_address(const struct mapping *mapping, const void *address)
{
    return (uintptr_t)address >= mapping->begin && (uintptr_t)address < mapping->end;
}

static int holds_same_bytes(const struct mapping *theirs, const void *argument)
{
    const struct mapping *ours = argument;
    return theirs->inode && theirs->inode == ours->inode && theirs->major == ours->major &&
           theirs->minor == ours->minor && theirs->offset == ours->offset;
}

static unsigned long address_in_server(const char *function)
{
    void *ours = dlsym(RTLD_DEFAULT, function);
    char process[16];
    struct mapping of_ours, of_theirs;
    snprintf(process, sizeof process, "%d", server);
    if (!ours || !find_mapping("self", holds_address, ours, &of_ours))
        give_up(NULL, "this program finds no %s", function);
    if (!find_mapping(process, holds_same_bytes, &of_ours, &of_theirs))
        give_up("run it where the server runs (in its container), or start the server with LD_PRELOAD",
                "process %d does not use the C library that this program uses", server);
    return of_theirs.begin + ((uintptr_t)ours - of_ours.begin);
}

/* ---- the stopped server -------------------------------------------------------------------------- */

static void write_memory(unsigned long to, const void *from, size_t size)
{
    struct iovec ours = {(void *)from, size}, theirs = {(void *)to, size};
    if (process_vm_writev(server, &ours, 1, &theirs, 1, 0) != (ssize_t)size)
        give_up(NULL, "the server's memory cannot be written: %s", strerror(errno));
}

static void read_text(unsigned long from, char *into, size_t size)
{
    struct iovec ours = {into, size - 1}, theirs = {(void *)from, size - 1};
    ssize_t there = from ? process_vm_readv(server, &ours, 1, &theirs, 1, 0) : 0;
    into[there > 0 ? there : 0] = 0;
}

static void wait_for_stop(int *status)
{
    while (waitpid(server, status, __WALL) < 0)
        if (errno != EINTR)
            give_up(NULL, "the server is gone: %s", strerror(errno));
    if (!WIFSTOPPED(*status))
        give_up(NULL, "the server has ended");
}

/* A stop that a signal made, not ours: the signal goes on with the thread. */
static int signal_of(int status)
{
    int from_ptrace = status >> 16;
    return from_ptrace ? 0 : WSTOPSIG(status);
}

/* Who traces the main thread; 0: nobody. */
static pid_t tracer(void)
{
    char path[64], line[256];
    pid_t found = 0;
    snprintf(path, sizeof path, "/proc/%d/status", server);
    FILE *lines = fopen(path, "re");
    while (lines && !found && fgets(line, sizeof line, lines))
        sscanf(line, "TracerPid: %d", &found);
    if (lines)
        fclose(lines);
    return found;
}

/* Begins to trace the main thread. One at a time can: another one of these, for another recording, is done within
 * milliseconds. */
static void trace(double deadline)
{
    for (int tries = 1; ptrace(PTRACE_SEIZE, server, 0, 0); usleep(500)) {
        int cause = errno;
        pid_t other = tracer();
        if (other && milliseconds() > deadline)
            give_up("is that a debugger?", "process %d is traced by process %d", server, other);
        /* Unless it has let go just now. */
        if (!other && tries++ == 10)
            give_up("you must be root or the server's user, and kernel.yama.ptrace_scope must allow it",
                    "process %d cannot be traced: %s", server, strerror(cause));
    }
}

/* Interrupts the main thread until that happens in epoll_wait; leaves it stopped there. */
static void stop_while_waiting(struct user_regs_struct *registers, int seconds)
{
    double begin = milliseconds();
    trace(begin + seconds * 1e3);
    while (milliseconds() - begin < seconds * 1e3) {
        int status, passed_on = 0;
        if (ptrace(PTRACE_INTERRUPT, server, 0, 0))
            give_up(NULL, "process %d cannot be stopped: %s", server, strerror(errno));
        wait_for_stop(&status);
        if (status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP) {
            ptrace(PTRACE_GETREGS, server, 0, registers);
            long call = registers->orig_rax;
            if (call == SYS_epoll_wait || call == SYS_epoll_pwait)
                return;
        } else {
            passed_on = signal_of(status);
        }
        ptrace(PTRACE_CONT, server, 0, passed_on);
        /* Not in step with anything that the server does. */
        usleep(20 + rand() % 200);
    }
    give_up("is it loading, or stuck in a command?", "process %d did not wait for events within %d s", server,
            seconds);
}

/* Threads that the server began in functions which we had it call: they stand at their first instruction. */
static pid_t new_threads[16];
static unsigned held;
static int holds_new_threads;

static void hold_new_threads(void)
{
    holds_new_threads = !ptrace(PTRACE_SETOPTIONS, server, 0, PTRACE_O_TRACECLONE);
}

static void hold_new_thread(void)
{
    unsigned long thread = 0;
    ptrace(PTRACE_GETEVENTMSG, server, 0, &thread);
    int status, has_room = held < sizeof new_threads / sizeof *new_threads;
    if (has_room)
        new_threads[held++] = thread;
    else if (waitpid(thread, &status, __WALL) == (pid_t)thread)
        ptrace(PTRACE_DETACH, thread, 0, 0);
}

static void let_new_threads_go(void)
{
    ptrace(PTRACE_SETOPTIONS, server, 0, 0);
    holds_new_threads = 0;
    while (held) {
        int status;
        pid_t thread = new_threads[--held];
        if (waitpid(thread, &status, __WALL) == thread)
            ptrace(PTRACE_DETACH, thread, 0, 0);
    }
}

/* Has the stopped thread call a function, with its stack as it was and the registers restored by the
 * caller of this. No other register needs care: for its compiler, epoll_wait is a call that uses them. */
static unsigned long call(const struct user_regs_struct *saved, unsigned long function, unsigned long first,
                          unsigned long second, unsigned long third)
{
    struct user_regs_struct registers = *saved;
    unsigned long return_address = NOWHERE;
    registers.rsp = ((saved->rsp - STACK_LEFT_ALONE - TEXT_BYTES) & ~15ul) - 8;
    write_memory(registers.rsp, &return_address, sizeof return_address);
    registers.rip = function;
    registers.rdi = first;
    registers.rsi = second;
    registers.rdx = third;
    registers.rax = 0;
    /* In no system call, so none is begun again. */
    registers.orig_rax = -1;
    ptrace(PTRACE_SETREGS, server, 0, &registers);
    int passed_on = 0;
    for (;;) {
        int status;
        ptrace(PTRACE_CONT, server, 0, passed_on);
        wait_for_stop(&status);
        if (holds_new_threads && status >> 16 == PTRACE_EVENT_CLONE)
            hold_new_thread();
        passed_on = signal_of(status);
        if (passed_on != SIGSEGV && passed_on != SIGBUS && passed_on != SIGILL)
            continue;
        ptrace(PTRACE_GETREGS, server, 0, &registers);
        if (registers.rip == NOWHERE)
            return registers.rax;
        give_up("please report it with the versions of Redis and LTTng",
                "the agent's code failed inside the server (signal %d); the server goes on", passed_on);
    }
}

/* ---- attach, detach and ask ---------------------------------------------------------------------------- */

struct functions {
    unsigned long getenv, setenv, dlopen, dlsym, dlerror;
};

enum task { ATTACH, DETACH, DETACH_WHEN_IDLE, ASK, TASKS };
static const struct {
    const char *option, *function;
} tasks[TASKS] = {
    [ATTACH] = {"", "slowpath_redis_start"},
    [DETACH] = {"--detach", "slowpath_redis_stop"},
    [DETACH_WHEN_IDLE] = {"--detach-when-idle", "slowpath_redis_stop_when_idle"},
    [ASK] = {"--status", "slowpath_redis_status"},
};

/* What the agent's function answered, and whether the agent was loaded before. */
static int answer, was_loaded;
/* Why the agent refused. */
static char refusal[512];

/* Loads the agent, and LTTng with it. LTTng's constructor waits for its daemon as long as a variable says, and the
 * server would wait with it. From the same variable LTTng's thread takes how long the daemon may be about an answer;
 * then it gives the daemon up, and nothing of this server is recorded any more. So the text of the variable, to which
 * LTTng keeps a pointer, says 0 while the constructor runs, and what it should before that thread begins. */
static unsigned long load(const struct user_regs_struct *saved, const struct functions *there, unsigned long path,
                          unsigned long text)
{
    static const char variable[] = "LTTNG_UST_REGISTER_TIMEOUT";
    /* With room for what will stand there. */
    char none[PATIENCE_BYTES] = "0              ", patience[256] = "";
    unsigned long value = text + 32;
    write_memory(text, variable, sizeof variable);
    read_text(call(saved, there->getenv, text, 0, 0), patience, sizeof patience);
    if (!patience[0] || strlen(patience) >= PATIENCE_BYTES)
        strcpy(patience, PATIENCE);
    write_memory(value, none, sizeof none);
    call(saved, there->setenv, text, value, 1);
    value = call(saved, there->getenv, text, 0, 0);
    hold_new_threads();
    unsigned long handle = call(saved, there->dlopen, path, RTLD_NOW, 0);
    if (value)
        write_memory(value, patience, strlen(patience) + 1);
    let_new_threads_go();
    return handle;
}

/* NULL, or what failed. */
static const char *work(const struct user_regs_struct *saved, const struct functions *there, const char *library,
                        enum task task)
{
    static char said[512];
    unsigned long text = saved->rsp - STACK_LEFT_ALONE - TEXT_BYTES;
    unsigned long path = text + 64, name = path + PATH_MAX;
    write_memory(path, library, strlen(library) + 1);
    unsigned long handle = call(saved, there->dlopen, path, RTLD_NOW | RTLD_NOLOAD, 0);
    was_loaded = handle != 0;
    if (!was_loaded && task == ATTACH)
        handle = load(saved, there, path, text);
    if (!handle) {
        read_text(call(saved, there->dlerror, 0, 0, 0), said, sizeof said);
        return task == ATTACH ? said : "the agent is not in this process";
    }
    const char *wanted = tasks[task].function;
    write_memory(name, wanted, strlen(wanted) + 1);
    unsigned long function = call(saved, there->dlsym, handle, name, 0);
    if (!function)
        return "another version of the agent is loaded there, until the server is started anew";
    answer = call(saved, function, 0, 0, 0);
    int is_refused = (task == ATTACH && answer == SLOWPATH_REDIS_REFUSED) ||
                     (task == ASK && answer == SLOWPATH_REDIS_IS_REFUSED);
    if (!is_refused)
        return NULL;
    const char *reason = "slowpath_redis_refusal";
    write_memory(name, reason, strlen(reason) + 1);
    function = call(saved, there->dlsym, handle, name, 0);
    read_text(function ? call(saved, function, 0, 0, 0) : 0, refusal, sizeof refusal);
    return task == ASK ? NULL : refusal;
}

static void tell(enum task task, double waited, double stood_still)
{
    static const char *const is[] = {"away", "refused", "learning", "idle", "recorded"};
    if (task == ASK)
        printf("%s%s%s\n", is[answer], refusal[0] ? ": " : "", refusal);
    else if (task == ATTACH && was_loaded && answer == SLOWPATH_REDIS_PRESENT_ALREADY)
        printf("the agent is in process %d already\n", server);
    else if (task == DETACH_WHEN_IDLE && answer == SLOWPATH_REDIS_LATER)
        printf("process %d is recorded: the agent leaves it when no session records it any more\n", server);
    else
        printf("%s process %d, which stood still for %.1f ms (%.1f ms until it waited for events)\n",
               task == ATTACH ? "attached to" : "detached from", server, stood_still, waited);
}

/* Every build that the agent can hook exports this function, and no other program does. */
static void check_that_it_is_redis(void)
{
    static const char function[] = "\0readQueryFromClient";
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/exe", server);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    off_t size = file < 0 ? 0 : lseek(file, 0, SEEK_END);
    if (file < 0)
        give_up("is the number of the process right, and may you trace it?", "%s: %s", path, strerror(errno));
    char *program = size > 0 ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    if (program == MAP_FAILED || !memmem(program, size, function, sizeof function))
        give_up(NULL, "process %d is no redis-server that exports its functions", server);
    munmap(program, size);
    close(file);
}

/* What the thread will need, so that the disk does not keep it waiting. */
static void read_ahead(const char *path)
{
    static char piece[65536];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    while (file >= 0 && read(file, piece, sizeof piece) > 0)
        ;
    if (file >= 0)
        close(file);
}

int main(int count, char **arguments)
{
    enum task task = count == 3 ? TASKS - 1 : ATTACH;
    while (task != ATTACH && strcmp(arguments[1], tasks[task].option))
        task--;
    char *end = "";
    server = count == 2 + (task != ATTACH) ? strtol(arguments[count - 1], &end, 10) : 0;
    if (server <= 0 || *end) {
        fprintf(stderr, "usage: slowpath-redis-attach [--detach | --detach-when-idle | --status] PID\n"
                        "Brings slowpath's agent into the running redis-server PID, has it leave, at once or when no\n"
                        "session records it, or says how far it is: away, refused, learning, idle or recorded.\n");
        return 2;
    }
    /* Beside this program. */
    char library[PATH_MAX] = {0}, seen_by_server[PATH_MAX + 32];
    ssize_t length = readlink("/proc/self/exe", library, sizeof library - sizeof LIBRARY);
    char *slash = length > 0 ? strrchr(library, '/') : NULL;
    if (!slash)
        give_up(NULL, "this program does not find itself");
    strcpy(slash + 1, LIBRARY);
    snprintf(seen_by_server, sizeof seen_by_server, "/proc/%d/root%s", server, library);
    check_that_it_is_redis();
    if (access(seen_by_server, R_OK))
        give_up("build it (make -C agents/redis); the server must see it under the same path",
                "%s: %s", seen_by_server, strerror(errno));
    read_ahead(library);
    /* Ended in between, we would leave the thread in the middle of what it does for us. */
    sigset_t signals;
    sigfillset(&signals);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    struct functions there = {address_in_server("getenv"), address_in_server("setenv"), address_in_server("dlopen"),
                              address_in_server("dlsym"), address_in_server("dlerror")};

    struct user_regs_struct saved;
    double begin = milliseconds();
    stop_while_waiting(&saved, task == ASK ? SECONDS_TO_ASK : SECONDS_TO_FIND_IT_WAITING);
    double stopped = milliseconds();
    before = &saved;
    const char *failed = work(&saved, &there, library, task);
    let_go();
    double released = milliseconds();
    if (failed)
        give_up(NULL, "%s", failed);
    tell(task, stopped - begin, released - stopped);
    return 0;
}
