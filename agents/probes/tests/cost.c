/* What probes cost: processor time per pair of begin and end, on and off, with 1 to 8 threads, where a reader takes the records
 * as they come. Best of many rounds: this is about the code, not about what else the machine does. Prints figures, judges
 * none but in bench.sh.   cost [TYPE THREADS ROUNDS on|off]  (only that, for callgrind) */
#include "slowpath_probes.h"
#include "slowpath_probes_reader.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TURNS = 2000 };

static double thread_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* The loop itself is measured too, and subtracted. */
#define PAIR(type) \
    static __attribute__((noinline)) void run_##type(void) \
    { \
        for (int turn = 0; turn < TURNS; turn++) { \
            type##_PROBE_BEGIN(1, 1); \
            __asm__ volatile("" ::: "memory"); \
            type##_PROBE_END(1); \
        } \
    }
PAIR(CNT)
PAIR(LAT)
PAIR(TPT)
PAIR(FLT)
PAIR(CTXSW)
PAIR(LLC)

static __attribute__((noinline)) void run_PERFCNTR(void)
{
    for (int turn = 0; turn < TURNS; turn++) {
        PERFCNTR_PROBE_BEGIN(1, 1, 0);
        __asm__ volatile("" ::: "memory");
        PERFCNTR_PROBE_END(1);
    }
}

static __attribute__((noinline)) void run_SNAPSHOT(void)
{
    for (int turn = 0; turn < TURNS; turn++) {
        SNAPSHOT_PROBE(1, 1, turn, 2, 3);
        __asm__ volatile("" ::: "memory");
    }
}

static __attribute__((noinline)) void run_nothing(void)
{
    for (int turn = 0; turn < TURNS; turn++)
        __asm__ volatile("" ::: "memory");
}

static const struct kind {
    const char *name;
    void (*run)(void);
} kinds[] = {{"CNT", run_CNT}, {"LAT", run_LAT}, {"TPT", run_TPT}, {"SNAPSHOT", run_SNAPSHOT}, {"FLT", run_FLT},
             {"CTXSW", run_CTXSW}, {"LLC", run_LLC}, {"PERFCNTR", run_PERFCNTR}};
enum { KINDS = sizeof kinds / sizeof *kinds };

struct job {
    void (*run)(void);
    int rounds;
    double best;
};

static void *work(void *given)
{
    struct job *job = given;
    job->best = 1e18;
    job->run(); /* what only the first time costs */
    for (int round = 0; round < job->rounds; round++) {
        double begin = thread_ns();
        job->run();
        double ns = (thread_ns() - begin) / TURNS;
        job->best = ns < job->best ? ns : job->best;
    }
    return NULL;
}

/* Nanoseconds of a pair: the mean over threads of each one's best round. */
static double measure(void (*run)(void), int threads, int rounds)
{
    pthread_t started[64];
    struct job jobs[64];
    double sum = 0;
    for (int thread = 0; thread < threads; thread++) {
        jobs[thread] = (struct job){run, rounds, 0};
        pthread_create(&started[thread], NULL, work, &jobs[thread]);
    }
    for (int thread = 0; thread < threads; thread++) {
        pthread_join(started[thread], NULL);
        sum += jobs[thread].best;
    }
    return sum / threads;
}

static struct slowpath_reader *reader;
static int stop;

/* As a collector does: every millisecond. */
static void *collect(void *unused)
{
    static struct slowpath_record records[4096];
    (void)unused;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        while (slowpath_reader_read(reader, records, 4096, 4096) == 4096) {
        }
        usleep(1000);
    }
    return NULL;
}

int main(int count, char **arguments)
{
    char message[200];
    reader = slowpath_reader_open(getpid(), message, sizeof message);
    if (!reader) {
        fprintf(stderr, "%s\n", message);
        return 1;
    }
    if (count == 5) {
        slowpath_reader_switch(reader, "all", strcmp(arguments[4], "on") == 0 ? 1 : 0);
        for (int kind = 0; kind < KINDS; kind++)
            if (strcmp(arguments[1], kinds[kind].name) == 0)
                for (int round = 0; round < atoi(arguments[3]); round++)
                    kinds[kind].run();
        return 0;
    }
    static const int threads[] = {1, 2, 4, 8};
    pthread_t collector;
    pthread_create(&collector, NULL, collect, NULL);
    double loop = measure(run_nothing, 1, 2000);
    printf("ns per pair (a loop around it, %.2f ns, is subtracted)\n%-9s", loop, "");
    for (int column = 0; column < 4; column++)
        printf("  %d thread%s on", threads[column], column ? "s" : "");
    printf("       off\n");
    for (int kind = 0; kind < KINDS; kind++) {
        bool hardware = !slowpath_probe_available(SLOWPATH_LLC, 0);
        if (kind >= KINDS - 2 && !hardware) {
            printf("%-9s SKIPPED: no hardware counters here\n", kinds[kind].name);
            continue;
        }
        SET_PERFCNTR(0, 0x2e, 0x41);
        printf("%-9s", kinds[kind].name);
        slowpath_reader_switch(reader, kinds[kind].name, 1);
        for (int column = 0; column < 4; column++)
            printf("  %11.1f", measure(kinds[kind].run, threads[column], kind < 4 ? 1000 : 100) - loop);
        slowpath_reader_switch(reader, kinds[kind].name, 0);
        printf("  %8.2f\n", measure(kinds[kind].run, 1, 2000) - loop);
        fflush(stdout);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(collector, NULL);
    struct slowpath_reader_counts counts;
    slowpath_reader_count(reader, &counts);
    printf("of %" PRIu64 " records, %" PRIu64 " were read and %" PRIu64 " sacrificed, as they came faster than they were read\n",
           counts.stored, counts.read, counts.lost);
    return 0;
}
