/* Every probe in a real program, switched and read through the reader's library as from outside; by its own process, so that
 * each step can be checked where it is taken. Values are compared with what the kernel says of the same moment. */
#define _GNU_SOURCE
#include "slowpath_probes.h"
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define AS_WRITTEN UINT32_MAX
#define PARSE 17 /* a macro as an id */
enum { PLAN = 18 }; /* and a constant */

static int passed;
static cpu_set_t all_processors;

/* To one queue of each type, so that records come in the order in which they were made. */
static void stay_on_this_processor(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void counted(void)
{
    CNT_PROBE_BEGIN(PARSE, 3);
    CNT_PROBE_END(PARSE);
}

static void test_count_and_switch(void)
{
    switched("all", 0);
    for (int turn = 0; turn < 10; turn++)
        counted();
    CHECK(read_all() == 0); /* off */

    switched("CNT", AS_WRITTEN);
    for (int turn = 0; turn < 10; turn++)
        counted();
    CHECK(read_all() == 3);
    for (int record = 0; record < 3; record++) {
        CHECK(records[record].type == SLOWPATH_CNT && records[record].probe == 17 && records[record].field_count == 2);
        CHECK(records[record].fields[0] == 3 && records[record].fields[1] == 3u * (unsigned)(record + 1));
        CHECK(records[record].thread == (uint32_t)syscall(SYS_gettid));
    }
    switched("CNT:17", 1); /* from outside: each */
    counted();
    CHECK(read_all() == 1 && records[0].fields[0] == 2 && records[0].fields[1] == 11); /* one was left over */
    switched("CNT:17/2,LAT", 1);
    counted();
    CHECK(read_all() == 0);
    counted();
    CHECK(read_all() == 1);
    switched("CNT:99", 1); /* another probe */
    counted();
    counted();
    CHECK(read_all() == 0);

    struct slowpath_reader_probe probe;
    bool seen = false, foreseen = false;
    for (size_t index = 0; slowpath_reader_probe(reader, index, &probe); index++) {
        seen |= probe.type == SLOWPATH_CNT && probe.id == 17 && strcmp(probe.name, "PARSE") == 0 && probe.written == 3;
        foreseen |= probe.id == 99 && probe.every == 1 && probe.written == 0;
    }
    CHECK(seen && foreseen);
}

static void test_bad_selections(void)
{
    const char *wrong[] = {"", "LATENCY", "CNT:", "CNT:65536", "all:1", "CNT/0", "CNT/", "CNT,", "CNT:17x", "CNT:17,XYZ", "CNT:-1"};
    switched("all", 0);
    for (size_t index = 0; index < sizeof wrong / sizeof *wrong; index++)
        CHECK(slowpath_reader_switch(reader, wrong[index], 1) != NULL);
    counted();
    CHECK(read_all() == 0); /* also of a list with a mistake at its end, nothing is switched */
}

static void test_latency_and_time_line(void)
{
    switched("LAT", AS_WRITTEN);
    uint64_t before = now_ns();
    LAT_PROBE_BEGIN(PLAN, 1);
    uint64_t inside = now_ns();
    usleep(3000);
    uint64_t still_inside = now_ns();
    LAT_PROBE_END(PLAN);
    uint64_t after = now_ns();
    CHECK(read_all() == 1 && records[0].field_count == 1);
    /* Two clocks are compared: a microsecond for what the conversion may be off. */
    CHECK(records[0].fields[0] + 1000 >= still_inside - inside && records[0].fields[0] <= after - before + 1000);
    CHECK(records[0].timestamp_ns + 1000 >= still_inside && records[0].timestamp_ns <= after + 1000);
}

static void test_throughput(void)
{
    switched("TPT", AS_WRITTEN);
    uint64_t before = now_ns();
    for (int turn = 0; turn < 9; turn++) {
        TPT_PROBE_BEGIN(2, 4);
        usleep(100);
        TPT_PROBE_END(2);
    }
    uint64_t passed_ns = now_ns() - before;
    CHECK(read_all() == 2);
    CHECK(records[0].fields[0] == 4 && records[0].fields[2] == 4 && records[1].fields[0] == 4 && records[1].fields[2] == 8);
    CHECK(records[0].fields[1] > 4 * 100000 - 1000 && records[0].fields[1] == records[0].fields[3]);
    CHECK(records[1].fields[3] >= records[0].fields[1] + records[1].fields[1] - 1 && records[1].fields[3] <= passed_ns + 1000);
}

static void touch(unsigned pages)
{
    size_t bytes = pages * 4096;
    volatile char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise((void *)memory, bytes, MADV_NOHUGEPAGE);
    for (size_t at = 0; at < bytes; at += 4096)
        memory[at] = 1;
    munmap((void *)memory, bytes);
}

static void test_faults_and_switches(void)
{
    struct rusage before, after;
    switched("FLT,CTXSW", AS_WRITTEN);
    getrusage(RUSAGE_THREAD, &before);
    for (int turn = 0; turn < 2; turn++) { /* the first brings faults of the library's own */
        FLT_PROBE_BEGIN(3, 1);
        CTXSW_PROBE_BEGIN(3, 1);
        touch(100);
        for (int sleep = 0; sleep < 5; sleep++)
            usleep(100);
        CTXSW_PROBE_END(3);
        FLT_PROBE_END(3);
    }
    getrusage(RUSAGE_THREAD, &after);
    CHECK(read_all() == 4);
    CHECK(records[0].type == SLOWPATH_FLT && records[1].type == SLOWPATH_FLT && records[2].type == SLOWPATH_CTXSW);
    CHECK(records[1].fields[0] >= 100 && records[1].fields[1] == 0);
    CHECK(records[0].fields[0] + records[1].fields[0] <= (uint64_t)(after.ru_minflt - before.ru_minflt));
    CHECK(records[2].fields[0] >= 5 && records[3].fields[0] >= 5);
    CHECK(records[2].fields[0] + records[3].fields[0] <= (uint64_t)(after.ru_nvcsw - before.ru_nvcsw));
}

static bool said_unavailable(uint32_t type)
{
    struct slowpath_reader_probe probe;
    for (size_t index = 0; slowpath_reader_probe(reader, index, &probe); index++)
        if (probe.type == type && probe.unavailable)
            return true;
    return false;
}

static void test_hardware_counters(void)
{
    int cache = slowpath_probe_available(SLOWPATH_LLC, 0), raw = SET_PERFCNTR(0, 0x2e, 0x41);
    switched("LLC,PERFCNTR", AS_WRITTEN);
    LLC_PROBE_BEGIN(4, 1);
    PERFCNTR_PROBE_BEGIN(5, 1, 0);
    touch(1000);
    PERFCNTR_PROBE_END(5);
    LLC_PROBE_END(4);
    CHECK(read_all() == (size_t)((cache == 0) + (raw == 0)));
    if (cache == 0)
        CHECK(records[0].field_count == 2 && records[0].fields[0] > 0);
    if (raw == 0)
        CHECK(records[cache == 0].fields[0] == 0 && records[cache == 0].fields[1] > 0);
    if (cache || raw)
        printf("SKIPPED: values of hardware counters, as this machine has none: %s\n", strerror(cache ? -cache : -raw));
    CHECK(cache <= 0 && raw <= 0 && said_unavailable(SLOWPATH_LLC) == (cache < 0));
    CHECK(said_unavailable(SLOWPATH_PERFCNTR) == (raw < 0));
    CHECK(SET_PERFCNTR(16, 0x2e, 0x41) == -EINVAL);
    CHECK(slowpath_probe_available(SLOWPATH_LAT, 0) == 0);
}

/* The same way to a number, but of a counter that the kernel itself keeps: page faults in user mode. */
static void test_software_counter(void)
{
    int error = slowpath_set_perfcntr(3, 1 /* PERF_TYPE_SOFTWARE */, 2 /* PERF_COUNT_SW_PAGE_FAULTS */);
    if (error) {
        printf("SKIPPED: counters of perf_event_open, which is not permitted here: %s\n", strerror(-error));
        return;
    }
    struct rusage before, after;
    switched("PERFCNTR", AS_WRITTEN);
    getrusage(RUSAGE_THREAD, &before);
    for (unsigned pages = 50; pages <= 100; pages += 50) {
        PERFCNTR_PROBE_BEGIN(6, 1, 3);
        touch(pages);
        PERFCNTR_PROBE_END(6);
    }
    getrusage(RUSAGE_THREAD, &after);
    CHECK(read_all() == 2 && records[0].fields[0] == 3);
    CHECK(records[0].fields[1] >= 50 && records[1].fields[1] >= 100);
    CHECK(records[0].fields[1] + records[1].fields[1] <= (uint64_t)(after.ru_minflt - before.ru_minflt));
}

static int evaluations;

static int evaluated(int value)
{
    evaluations++;
    return value;
}

static void test_snapshot(void)
{
    switched("all", 0);
    SNAPSHOT_PROBE(7, 1, evaluated(1));
    CHECK(read_all() == 0 && evaluations <= 1); /* once, at most, as it is not known before */
    evaluations = 0;
    for (int on = 0; on < 2; on++) {
        for (int turn = 0; turn < 4; turn++)
            SNAPSHOT_PROBE(8, 2, evaluated(turn), -1, 2u, 3l, (short)4, 5.9);
        CHECK(read_all() == (on ? 2 : 0));
        evaluations = on ? evaluations : 0;
        switched("SNAPSHOT", AS_WRITTEN);
    }
    CHECK(evaluations == 4 && records[1].field_count == 6 && records[1].probe == 8);
    CHECK(records[1].fields[0] == 3 && records[1].fields[1] == UINT64_MAX && records[1].fields[5] == 5);
}

static void test_fork(void)
{
    switched("LAT,FLT,TPT", AS_WRITTEN);
    int told[2];
    CHECK(pipe(told) == 0);
    FLT_PROBE_BEGIN(9, 1); /* what the parent begins the child cannot end */
    TPT_PROBE_BEGIN(9, 1);
    pid_t child = fork();
    TPT_PROBE_END(9);
    FLT_PROBE_END(9);
    if (child == 0) {
        LAT_PROBE_BEGIN(9, 1);
        LAT_PROBE_END(9);
        CHECK(write(told[1], "x", 1) == 1);
        pause();
    }
    char byte, message[200];
    CHECK(read(told[0], &byte, 1) == 1);
    CHECK(read_all() == 2); /* our own; the child's are not ours */
    struct slowpath_reader *of_child = slowpath_reader_open(child, message, sizeof message);
    CHECK(of_child && slowpath_reader_process(of_child) == (uint32_t)child && slowpath_reader_runs(of_child));
    CHECK(slowpath_reader_read(of_child, records, 10, 10) == 1 && records[0].thread == (uint32_t)child);
    CHECK(slowpath_reader_switch(of_child, "all", 0) == NULL);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    CHECK(!slowpath_reader_runs(of_child));
    slowpath_reader_close(of_child);
    CHECK(slowpath_reader_open(child, message, sizeof message) == NULL && strlen(message) > 0);
    LAT_PROBE_BEGIN(9, 1); /* still on here */
    LAT_PROBE_END(9);
    CHECK(read_all() == 1);
}

/* Moves from processor to processor, in the middle of probes, too. */
static void *wander(void *unused)
{
    (void)unused;
    cpu_set_t one;
    for (int turn = 0, processor = 0; turn < 1000; turn++) {
        CNT_PROBE_BEGIN(10, 1);
        if (turn % 10 == 0) {
            do
                processor = (processor + 1) % CPU_SETSIZE;
            while (!CPU_ISSET(processor, &all_processors));
            CPU_ZERO(&one);
            CPU_SET(processor, &one);
            sched_setaffinity(0, sizeof one, &one);
        }
        CNT_PROBE_END(10);
    }
    return NULL;
}

static void test_threads(void)
{
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    struct slowpath_reader_counts before, after;
    switched("CNT", AS_WRITTEN);
    slowpath_reader_count(reader, &before);
    for (int thread = 0; thread < THREADS; thread++)
        pthread_create(&threads[thread], NULL, wander, NULL);
    for (int thread = 0; thread < THREADS; thread++)
        pthread_join(threads[thread], NULL);
    size_t count = read_all();
    slowpath_reader_count(reader, &after);
    CHECK(after.stored - before.stored == THREADS * 1000 && after.waiting == 0 && after.refused == 0);
    CHECK(after.read - before.read == count && count + (after.lost - before.lost) == THREADS * 1000);
    bool several = false;
    for (size_t record = 1; record < count; record++)
        several |= records[record].processor != records[0].processor;
    if (CPU_COUNT(&all_processors) > 1)
        CHECK(several);
}

/* A record's memory is handed on from thread to thread: more threads than there are spare nodes. */
static void *one_record(void *unused)
{
    (void)unused;
    counted();
    return NULL;
}

static void test_many_short_threads(void)
{
    struct slowpath_reader_counts before, after;
    switched("CNT:17", 1);
    slowpath_reader_count(reader, &before);
    for (int thread = 0; thread < 5000; thread++) {
        pthread_t short_lived;
        pthread_create(&short_lived, NULL, one_record, NULL);
        pthread_join(short_lived, NULL);
    }
    slowpath_reader_count(reader, &after);
    CHECK(after.stored - before.stored == 5000 && after.refused == 0);
}

static void test_overload(void)
{
    struct slowpath_reader_counts before, after;
    switched("SNAPSHOT", AS_WRITTEN);
    slowpath_reader_count(reader, &before);
    for (int turn = 0; turn < 10000; turn++)
        SNAPSHOT_PROBE(11, 1, turn);
    slowpath_reader_count(reader, &after);
    CHECK(after.stored - before.stored == 10000 && after.waiting == 4096 && after.lost - before.lost == 10000 - 4096);
    CHECK(read_all() == 4096 && records[0].fields[0] == 10000 - 4096 && records[4095].fields[0] == 9999); /* the newest */
}

static void test_bindings(void)
{
    struct slowpath_probe *outer = slowpath_probe_new(20, SLOWPATH_LAT, 1, 0, "outer");
    struct slowpath_probe *inner = slowpath_probe_new(21, SLOWPATH_FLT, 1, 0, "inner");
    CHECK(outer && inner && !slowpath_probe_new(22, 3, 1, 0, "no type"));
    switched("all", 0);
    CHECK(*slowpath_probe_switch(outer) == 0 && slowpath_probe_enter(outer) == 0);
    switched("LAT,FLT", AS_WRITTEN);
    uint64_t first = slowpath_probe_enter(outer), second = slowpath_probe_enter(inner);
    CHECK(first && second && first != second && *slowpath_probe_switch(outer));
    slowpath_probe_leave(outer, second); /* not what was entered there: ignored */
    slowpath_probe_leave(outer, first);
    slowpath_probe_leave(outer, first); /* a second time */
    slowpath_probe_leave(inner, second);
    CHECK(read_all() == 1 && records[0].probe == 20);
    for (int depth = 0; depth < 100; depth++) /* too deep: ignored, and without harm */
        slowpath_probe_enter(outer);
    slowpath_probe_leave(outer, first);
    CHECK(read_all() == 1);
}

static void test_full_table(void)
{
    struct slowpath_reader_counts counts;
    switched("all", AS_WRITTEN);
    for (unsigned id = 0; id < 1100; id++)
        slowpath_probe_new((uint16_t)(30000 + id), SLOWPATH_LAT, 1, 0, "many");
    slowpath_reader_count(reader, &counts);
    CHECK(counts.probes_refused > 0);
    struct slowpath_probe *refused = slowpath_probe_new(40000, SLOWPATH_LAT, 1, 0, "one too many");
    CHECK(refused && *slowpath_probe_switch(refused) == 0 && slowpath_probe_enter(refused) == 0);
}

#define TEST(test) (test(), passed++)

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    sched_getaffinity(0, sizeof all_processors, &all_processors);
    stay_on_this_processor();
    open_own();
    TEST(test_count_and_switch);
    TEST(test_bad_selections);
    TEST(test_latency_and_time_line);
    TEST(test_throughput);
    TEST(test_faults_and_switches);
    TEST(test_hardware_counters);
    TEST(test_software_counter);
    TEST(test_snapshot);
    TEST(test_fork);
    TEST(test_threads);
    TEST(test_many_short_threads);
    TEST(test_overload);
    TEST(test_bindings);
    TEST(test_full_table);
    printf("probes in C: %d passed, 0 failed\n", passed);
    return 0;
}
