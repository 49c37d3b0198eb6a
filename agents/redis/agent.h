/* The agent as a whole: begin, safe points, end. What is exported serves slowpath-redis-attach, which
 * calls it in the main thread of a running server while that waits in epoll_wait. */
#ifndef SLOWPATH_REDIS_AGENT_H
#define SLOWPATH_REDIS_AGENT_H

#define EXPORTED __attribute__((visibility("default")))

/* Begins to look for recordings, which loading the library has done already unless slowpath_redis_stop was
 * called since. 0 where it has begun now. */
#define SLOWPATH_REDIS_REFUSED 1 /* the program cannot be hooked: the reason is on stderr */
#define SLOWPATH_REDIS_PRESENT_ALREADY 2
EXPORTED int slowpath_redis_start(void);

/* Why it was refused, or an empty text. */
EXPORTED const char *slowpath_redis_refusal(void);

/* Takes everything away from the program. It may be started again. */
EXPORTED int slowpath_redis_stop(void);

/* The same, but where a session records its events only once none does, unless it is started again before. */
#define SLOWPATH_REDIS_LATER 1
EXPORTED int slowpath_redis_stop_when_idle(void);

/* How far it is. */
enum slowpath_redis_status {
    SLOWPATH_REDIS_IS_AWAY,
    SLOWPATH_REDIS_IS_REFUSED,
    SLOWPATH_REDIS_IS_LEARNING,
    SLOWPATH_REDIS_IS_IDLE, /* it waits for a session that records its events */
    SLOWPATH_REDIS_IS_RECORDED,
};
EXPORTED int slowpath_redis_status(void);

#endif
