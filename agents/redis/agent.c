/* Stays in the program with two pointers only, those to epoll_wait and to fork. From epoll_wait it looks
 * now and then whether a recording wants events, and places or removes the other hooks there: a safe
 * point, as the main thread is in none of the hooked functions, and the I/O threads are idle whenever
 * Redis is about to wait. Loaded into a program that is no Redis it does nothing. */
#define _GNU_SOURCE
#include "agent.h"

#include <dlfcn.h>
#include <errno.h>
#include <lttng/ust-fork.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "batch.h"
#include "hooks.h"
#include "launch.h"
#include "layout.h"
#include "ticks.h"

/* Looks for recordings that often while the event loop is busy, and in each turn that found nothing to
 * do, so at least ten times in a second (`hz` of redis.conf). */
#define TURNS_BETWEEN_LOOKS 32
/* How long batches are kept while Redis waits for events: longer than the kernel's tick mostly is, as setting
 * up a timer that ends before that costs more than the event would. And how long a wait may be so that the
 * next one is expected to be shorter. */
#define KEEP_WAITING_MS 10
#define SHORT_WAIT_NS 200000

static int hook_epoll_wait(int epoll, struct epoll_event *events, int room, int timeout);
static pid_t hook_fork(void);

static struct imported import_epoll_wait = {.function = "epoll_wait", .hook = hook_epoll_wait};
static struct imported import_fork = {.function = "fork", .hook = hook_fork};

static char refusal[256];
static enum { AWAY, PRESENT, REFUSED } state;
/* All is known that hooks need. */
static int prepared;
static pthread_t main_thread;
/* Look in the next turn already. */
static int attentive = 1;
static unsigned turns;
/* Has the event loop begun? Before, Redis forks to become a daemon; after, to save. */
static int looked;
/* At the last look: did a session record its events? */
static int recorded;
/* It is to leave once none does. */
static int leaving;

static void leave(void)
{
    hooks_place(0);
    batch_look(0, 0);
    recorded = leaving = 0;
    imported_restore(&import_epoll_wait);
    imported_restore(&import_fork);
}

static void refuse(reason why)
{
    state = REFUSED;
    snprintf(refusal, sizeof refusal, "%s", why);
    fprintf(stderr,
            "slowpath: this process is not traced: %s\n"
            "hint: it goes on as if the agent were not there; agents/redis/README.md lists the builds of "
            "redis-server that can be traced\n",
            why);
}

/* ---- at the safe point -------------------------------------------------------------------------- */

static reason look_while_learning(void)
{
    reason failed = NULL;
    if (learning == LEARNING_TO_BEGIN) {
        failed = hooks_place(hooks_for_learning());
        return failed ? failed : layout_begin();
    }
    return layout_continue();
}

static void __attribute__((noinline, cold)) look(void)
{
    if (state != PRESENT || !pthread_equal(pthread_self(), main_thread))
        return;
    looked = 1;
    reason failed = NULL;
    if (learning != LEARNED)
        failed = look_while_learning();
    uint32_t wanted = learning == LEARNED ? hooks_wanted() : hooks_for_learning();
    if (!failed && wanted)
        failed = batch_prepare();
    if (!failed)
        failed = hooks_place(wanted);
    if (failed) {
        leave();
        refuse(failed);
        return;
    }
    if (learning != LEARNED)
        return;
    recorded = wanted != 0;
    batch_look(recorded, hooks_want_batches());
    if (leaving && !recorded) {
        state = AWAY;
        leave();
    }
}

/* Batches are kept over waits that end soon, and told when one does not. Where requests are rare, each is
 * told before the wait, as waking up for that would cost more. */
static int wait_for_events(int epoll, struct epoll_event *events, int room, int timeout)
{
    static int waits_are_short;
    int (*original)(int, struct epoll_event *, int, int) = import_epoll_wait.original;
    if (!batch_turn_end() || !timeout)
        return original(epoll, events, room, timeout);
    if (waits_are_short) {
        int first = timeout < 0 || timeout > KEEP_WAITING_MS ? KEEP_WAITING_MS : timeout;
        int ready = original(epoll, events, room, first);
        if (ready || first == timeout)
            return ready;
        timeout -= timeout < 0 ? 0 : first;
    }
    uint64_t begin = batch_tell_kept();
    int ready = original(epoll, events, room, timeout);
    waits_are_short = ns_of_ticks(ticks_now() - begin) < SHORT_WAIT_NS;
    return ready;
}

static int hook_epoll_wait(int epoll, struct epoll_event *events, int room, int timeout)
{
    if (__builtin_expect(attentive || ++turns % TURNS_BETWEEN_LOOKS == 0, 0)) {
        batch_turn_end();
        batch_tell_kept();
        look();
    }
    int ready = wait_for_events(epoll, events, room, timeout);
    attentive = ready <= 0 || (learning != LEARNED && state == PRESENT);
    return ready;
}

/* ---- fork ---------------------------------------------------------------------------------------- */

/* LTTng's own library for this, where the user has preloaded it, does the same. */
static int lttng_sees_fork(void *fork_function)
{
    Dl_info library;
    return dladdr(fork_function, &library) && library.dli_fname && strstr(library.dli_fname, "lttng-ust-fork");
}

static pid_t hook_fork(void)
{
    pid_t (*original)(void) = import_fork.original;
    if (!looked) {
        /* The child is the server. */
        sigset_t signals;
        if (lttng_sees_fork(import_fork.original))
            return original();
        lttng_ust_before_fork(&signals);
        pid_t child = original();
        if (child)
            lttng_ust_after_fork_parent(&signals);
        else
            lttng_ust_after_fork_child(&signals);
        return child;
    }
    pid_t child = original();
    /* A child that saves is not recorded: the buffers are its parent's. It runs Redis's own code. */
    if (!child)
        leave();
    return child;
}

/* ---- begin and end ------------------------------------------------------------------------------- */

static reason prepare(void)
{
    if (prepared)
        return NULL;
    reason failed = image_open();
    failed = failed ? failed : hooks_prepare();
    failed = failed ? failed : layout_prepare();
    if (failed)
        return failed;
    imported_find(&import_epoll_wait);
    imported_find(&import_fork);
    if (!import_epoll_wait.slot || !import_fork.slot)
        return "the program does not import epoll_wait and fork";
    prepared = 1;
    return NULL;
}

static int begin(void)
{
    /* What was refused before anything was hooked, as where another tracer had its breakpoints, may have changed. */
    if (state == REFUSED && !prepared)
        state = AWAY;
    if (state != AWAY)
        return state == REFUSED;
    reason failed = prepare();
    failed = failed ? failed : imported_hook(&import_epoll_wait);
    failed = failed ? failed : imported_hook(&import_fork);
    if (failed) {
        leave();
        image_close();
        refuse(failed);
        return 1;
    }
    /* By the first recording it then knows enough. */
    ticks_calibrate();
    main_thread = pthread_self();
    attentive = 1;
    state = PRESENT;
    return 0;
}

EXPORTED int slowpath_redis_start(void)
{
    /* Who calls this has found the event loop running. */
    looked = 1;
    leaving = 0;
    if (state == PRESENT)
        return SLOWPATH_REDIS_PRESENT_ALREADY;
    return begin() ? SLOWPATH_REDIS_REFUSED : 0;
}

EXPORTED const char *slowpath_redis_refusal(void)
{
    return refusal;
}

EXPORTED int slowpath_redis_stop(void)
{
    if (state == PRESENT) {
        state = AWAY;
        batch_tell_kept();
        leave();
    }
    return 0;
}

EXPORTED int slowpath_redis_stop_when_idle(void)
{
    if (state != PRESENT || !hooks_wanted())
        return slowpath_redis_stop();
    leaving = 1;
    return SLOWPATH_REDIS_LATER;
}

EXPORTED int slowpath_redis_status(void)
{
    if (state == AWAY)
        return SLOWPATH_REDIS_IS_AWAY;
    if (state == REFUSED)
        return SLOWPATH_REDIS_IS_REFUSED;
    if (learning != LEARNED)
        return SLOWPATH_REDIS_IS_LEARNING;
    return recorded ? SLOWPATH_REDIS_IS_RECORDED : SLOWPATH_REDIS_IS_IDLE;
}

__attribute__((constructor)) static void loaded(void)
{
    if (may_be_redis())
        begin();
}
