/* To be preloaded: every second time that the agent's signal handler looks at memory it takes 3 ms more, as a thread does
 * that loses its processor there. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

ssize_t process_vm_readv(pid_t process, const struct iovec *here, unsigned long here_count, const struct iovec *there,
                         unsigned long there_count, unsigned long flags)
{
    static __thread unsigned count;
    long got = syscall(SYS_process_vm_readv, process, here, here_count, there, there_count, flags);
    if ((count++ + (unsigned)syscall(SYS_gettid)) % 2)
        nanosleep(&(struct timespec){0, 3000000}, NULL);
    return got;
}
