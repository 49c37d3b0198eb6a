/* The agent as a whole: begin, safe points, end. What is exported serves slowpath-redis-attach, which
 * calls it in the main thread of a running server while that waits in epoll_wait. */
#ifndef SLOWPATH_REDIS_AGENT_H
#define SLOWPATH_REDIS_AGENT_H

#define EXPORTED __attribute__((visibility("default")))

/* Begins to look for recordings; loading the library does it too. 0, or 1 where the program cannot be
 * hooked: the reason is on stderr. Once begun, further calls do nothing. */
EXPORTED int slowpath_redis_start(void);

/* Takes everything away from the program. It may be started again. */
EXPORTED int slowpath_redis_stop(void);

#endif
