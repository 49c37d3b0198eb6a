// See registers.h. An event is opened for each thread that there is; threads that start later inherit them from those
// that start them. The JVM's own threads do without: they touch all objects and are none of the program's.
#include "registers.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace registers {
namespace {

// Threads that the program may have when the agent comes: of those beyond, nothing would be seen.
constexpr int MOST_THREADS = 4096;

#ifdef __x86_64__

// What siginfo_t tells of such a signal (linux/siginfo.h); the C library has no names for all of it.
struct PerfSignal {
    char begin[24];
    std::uint64_t data;
    std::uint32_t type;
    std::uint32_t flags;
};
constexpr int TRAP_BY_PERF = 6;
constexpr std::uint32_t LATE = 1;

OnAccess told;
struct sigaction before;
int events[COUNT][MOST_THREADS];
int threads;
alignas(8) const std::uint64_t nowhere[COUNT] = {};

perf_event_attr attributes(int which, std::uintptr_t address, int bytes, std::uint32_t tag)
{
    perf_event_attr event{};
    event.type = PERF_TYPE_BREAKPOINT;
    event.size = sizeof event;
    event.bp_type = HW_BREAKPOINT_RW;
    event.bp_addr = address;
    event.bp_len = static_cast<std::uint64_t>(bytes);
    event.sample_period = 1;
    event.sample_type = PERF_SAMPLE_IP;
    event.exclude_kernel = 1;
    event.exclude_hv = 1;
    event.inherit = 1;
    event.inherit_thread = 1;
    event.remove_on_exec = 1;
    event.sigtrap = 1;
    event.sig_data = static_cast<std::uint64_t>(tag) << 2 | static_cast<std::uint64_t>(which);
    return event;
}

void on_signal(int number, siginfo_t *info, void *machine)
{
    const int error = errno;
    if (info->si_code == TRAP_BY_PERF) {
        PerfSignal signal;
        memcpy(&signal, info, sizeof signal);
        told(static_cast<int>(signal.data & 3), static_cast<std::uint32_t>(signal.data >> 2),
             signal.flags & LATE ? nullptr : machine);
    } else if (before.sa_flags & SA_SIGINFO) {
        before.sa_sigaction(number, info, machine);
    } else if (before.sa_handler == SIG_DFL) {
        sigaction(SIGTRAP, &before, nullptr);
        raise(SIGTRAP);
    } else if (before.sa_handler != SIG_IGN) {
        before.sa_handler(number);
    }
    errno = error;
}

bool is_of_jvm(pid_t thread)
{
    static const char *const NAMES[] = {"VM Thread", "VM Periodic", "GC Thread#", "G1 ", "ParGC", "Shenandoah",
                                        "C1 Compiler", "C2 Compiler", "Sweeper thread", "ZDriver", "ZDirector", "ZWorker",
                                        "ZStat", "ZUncommitter", "ZUnmapper", "XDriver", "XWorker", "Service Thread",
                                        "Monitor Deflati"};
    char path[64];
    char name[17] = {};
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", thread);
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || read(file, name, sizeof name - 1) < 0)
        name[0] = 0;
    if (file >= 0)
        close(file);
    for (const char *begin : NAMES)
        if (!strncmp(name, begin, strlen(begin)))
            return true;
    return false;
}

int open_event(int which, pid_t thread)
{
    perf_event_attr event = attributes(which, reinterpret_cast<std::uintptr_t>(nowhere + which), 8, 0);
    event.disabled = 1;
    return static_cast<int>(syscall(SYS_perf_event_open, &event, thread, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

// Opens events of registers from one on, as long as there is room; up to which.
int open_from(int first, pid_t thread)
{
    int which = first;
    for (; which < COUNT; which++) {
        const int event = open_event(which, thread);
        if (event < 0)
            break;
        events[which][threads] = event;
    }
    return which;
}

// A thread that began after the first events were opened has inherited those that the thread had which started it: the
// first ones, as they are opened in order. Then there is room for the others only.
bool open_thread(pid_t thread)
{
    if (threads == MOST_THREADS) {
        errno = E2BIG;
        return false;
    }
    for (int which = 0; which < COUNT; which++)
        events[which][threads] = -1;
    const int room = open_from(0, thread);
    if (room < COUNT && threads > 0 && errno == ENOSPC) {
        for (int which = 0; which < room; which++) {
            close(events[which][threads]);
            events[which][threads] = -1;
        }
        open_from(COUNT - room, thread);
        threads++;
        return true;
    }
    threads++;
    return room == COUNT || errno == ESRCH;
}

void close_all()
{
    for (; threads > 0; threads--)
        for (int which = 0; which < COUNT; which++)
            if (events[which][threads - 1] >= 0)
                close(events[which][threads - 1]);
}

// Opens events for threads that are not in the list `known` yet, and adds them to it.
bool open_threads(pid_t *known, int &count)
{
    DIR *tasks = opendir("/proc/self/task");
    if (!tasks)
        return false;
    bool is_open = true;
    for (dirent *task = readdir(tasks); is_open && task; task = readdir(tasks)) {
        const pid_t thread = atoi(task->d_name);
        bool is_known = thread <= 0;
        for (int index = 0; index < count && !is_known; index++)
            is_known = known[index] == thread;
        if (is_known)
            continue;
        if (count == MOST_THREADS) {
            errno = E2BIG;
            is_open = false;
            break;
        }
        known[count++] = thread;
        is_open = is_of_jvm(thread) || open_thread(thread);
    }
    const int error = errno;
    closedir(tasks);
    errno = error;
    return is_open;
}

const char *reason(int error)
{
    switch (error) {
    case EACCES:
    case EPERM:
        return "the kernel refuses perf_event_open (hint: kernel.perf_event_paranoid up to 2, and a seccomp profile that "
               "allows it)";
    case ENOSPC:
        return "the debug registers are in use (hint: is a debugger attached?)";
    case E2BIG:
        return "the program has more than 4,096 threads";
    case EMFILE:
        return "too many open files (hint: ulimit -n)";
    case EINVAL:
        return "the kernel does not know signals of perf events (hint: Linux 5.13 or later)";
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
        return "the processor, or the virtual machine, has no debug registers";
    default:
        return strerror(error);
    }
}

#endif

} // namespace

#ifdef __x86_64__

const char *open(OnAccess on_access)
{
    static pid_t known[MOST_THREADS];
    int count = 0;
    told = on_access;
    struct sigaction action = {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK | SA_NODEFER;
    sigaction(SIGTRAP, &action, &before);
    bool is_open = true;
    // Until no more have begun meanwhile.
    for (int begun = -1; is_open && begun != count;) {
        begun = count;
        is_open = open_threads(known, count);
    }
    if (is_open)
        return nullptr;
    const int error = errno;
    close_all();
    sigaction(SIGTRAP, &before, nullptr);
    return reason(error);
}

bool are_told()
{
    struct sigaction now;
    return sigaction(SIGTRAP, nullptr, &now) == 0 && now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_signal;
}

bool aim(int which, std::uintptr_t address, int bytes, std::uint32_t tag)
{
    perf_event_attr event = attributes(which, address, bytes, tag);
    bool is_aimed = true;
    for (int thread = 0; thread < threads; thread++) {
        const int opened = events[which][thread];
        // Of a thread that is gone those that it started remain; where there is none, the kernel says that it is gone.
        is_aimed &= opened < 0 || ioctl(opened, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &event) == 0 || errno == ESRCH;
    }
    return is_aimed;
}

void disable(int which)
{
    for (int thread = 0; thread < threads; thread++)
        if (events[which][thread] >= 0)
            ioctl(events[which][thread], PERF_EVENT_IOC_DISABLE, 0);
}

#else

const char *open(OnAccess)
{
    return "debug registers are used on x86-64 only";
}

bool are_told()
{
    return false;
}

bool aim(int, std::uintptr_t, int, std::uint32_t)
{
    return false;
}

void disable(int) {}

#endif

} // namespace registers
