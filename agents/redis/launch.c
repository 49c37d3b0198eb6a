/* What `slowpath record --redis launch` preloads into everything that the command starts: loads the agent, which lies
 * beside it, into what is a Redis, and nothing into anything else. Links no library: LTTng's would start threads and
 * wait for its daemon in each program of a shell script, and ends a shell that has forked, by an assertion, when a
 * session goes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "launch.h"

#define AGENT "libslowpath_redis.so"

static void load_agent(void)
{
    char path[4096];
    Dl_info own;
    if (!dladdr((void *)load_agent, &own) || !own.dli_fname)
        return;
    const char *name = strrchr(own.dli_fname, '/');
    int folder = name ? (int)(name + 1 - own.dli_fname) : 0;
    if (snprintf(path, sizeof path, "%.*s" AGENT, folder, own.dli_fname) >= (int)sizeof path)
        return;
    if (!dlopen(path, RTLD_NOW))
        fprintf(stderr, "slowpath: this process is not traced: %s\n", dlerror());
}

__attribute__((constructor)) static void loaded(void)
{
    int error = errno;
    if (may_be_redis())
        load_agent();
    errno = error;
}
