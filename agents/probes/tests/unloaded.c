/* A plugin with the static library in it (built with PLUGIN), and a program that unloads it while a thread that executed
 * its probe still runs: the thread's end must not call what is no longer there. Asserts nothing about records. */
#ifdef PLUGIN
#include "slowpath_probes.h"
void work(void);
void work(void)
{
    LAT_PROBE_BEGIN(3, 1);
    LAT_PROBE_END(3);
}
#else
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static pthread_barrier_t barrier;

static void *runs_on(void *work)
{
    ((void (*)(void))work)();
    pthread_barrier_wait(&barrier); /* executed */
    pthread_barrier_wait(&barrier); /* unloaded */
    return NULL;
}

int main(int argument_count, char **arguments)
{
    void *plugin = argument_count == 2 ? dlopen(arguments[1], RTLD_NOW) : NULL;
    void *work = plugin ? dlsym(plugin, "work") : NULL;
    pthread_t thread;
    if (!work)
        return 2;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, runs_on, work);
    pthread_barrier_wait(&barrier);
    dlclose(plugin);
    if (dlopen(arguments[1], RTLD_NOW | RTLD_NOLOAD))
        return 3; /* it is still there, so that nothing is tested */
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    puts("an unloaded plugin: 1 passed, 0 failed");
    return 0;
}
#endif
