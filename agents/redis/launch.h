/* Which programs the agent is for: launch.c asks before it loads the agent, and the agent when it is loaded. */
#ifndef SLOWPATH_REDIS_LAUNCH_H
#define SLOWPATH_REDIS_LAUNCH_H

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

/* Shells that start a server inherit what is preloaded for it. Of what is called a server and is none, the agent says
 * why it is not traced. */
static inline int may_be_redis(void)
{
    return dlsym(RTLD_DEFAULT, "readQueryFromClient") || strstr(program_invocation_short_name, "-server");
}

#endif
