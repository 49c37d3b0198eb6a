/* The workload of the SQLite exploration: threads that ask one range query over and over, and what makes their data.
 *
 *     query make FILE ROWS PAGE_SIZE
 *     query run FILE THREADS CACHE_KIB QUERIES shared|private
 *
 * After section 5.2 of Go and Colmenares (2016): the mean number of passengers of trips that start in a square, four
 * constraints, a connection for each thread. Prints one JSON document. Not a benchmark of SQLite. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SIDE 1000000 /* trips start in a square of so many metres */

static const char *file;
static int cache_kib, queries, is_shared;
static atomic_int next_query;

static void must(int result, sqlite3 *database, const char *what)
{
    if (result != SQLITE_OK && result != SQLITE_DONE && result != SQLITE_ROW) {
        fprintf(stderr, "query: %s: %s\n", what, database ? sqlite3_errmsg(database) : sqlite3_errstr(result));
        exit(1);
    }
}

static void execute(sqlite3 *database, const char *text)
{
    must(sqlite3_exec(database, text, NULL, NULL, NULL), database, text);
}

/* Marsaglia's xorshift64: the same data everywhere. */
static uint64_t drawn(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static int make(const char *path, long rows, int page_size)
{
    sqlite3 *database;
    sqlite3_stmt *insert;
    char text[64];
    uint64_t state = 88172645463325252u;

    must(sqlite3_open(path, &database), NULL, path);
    snprintf(text, sizeof text, "PRAGMA page_size = %d", page_size);
    execute(database, text);
    execute(database, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;"
                      "CREATE TABLE trips (id INTEGER PRIMARY KEY, x INTEGER, y INTEGER, passengers INTEGER,"
                      " seconds INTEGER, fare REAL)");
    must(sqlite3_prepare_v2(database, "INSERT INTO trips VALUES (NULL, ?, ?, ?, ?, ?)", -1, &insert, NULL), database, "insert");
    for (long row = 0; row < rows; row++) {
        sqlite3_bind_int(insert, 1, (int)(drawn(&state) % SIDE));
        sqlite3_bind_int(insert, 2, (int)(drawn(&state) % SIDE));
        sqlite3_bind_int(insert, 3, (int)(drawn(&state) % 6) + 1);
        sqlite3_bind_int(insert, 4, (int)(drawn(&state) % 3600));
        sqlite3_bind_double(insert, 5, (double)(drawn(&state) % 10000) / 100);
        must(sqlite3_step(insert), database, "insert");
        sqlite3_reset(insert);
    }
    sqlite3_finalize(insert);
    execute(database, "CREATE INDEX starts ON trips (x, y, passengers); COMMIT; ANALYZE;");
    must(sqlite3_close(database), database, "close");
    return 0;
}

/* Asks until all queries are asked; query N is the same whoever asks it. */
static void *ask(void *argument)
{
    sqlite3 *database;
    sqlite3_stmt *query;
    char text[64];
    int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | (is_shared ? SQLITE_OPEN_SHAREDCACHE : SQLITE_OPEN_PRIVATECACHE);
    (void)argument;

    must(sqlite3_open_v2(file, &database, flags, NULL), NULL, file);
    snprintf(text, sizeof text, "PRAGMA cache_size = -%d", cache_kib);
    execute(database, text);
    must(sqlite3_prepare_v2(database, "SELECT avg(passengers) FROM trips WHERE x BETWEEN ? AND ? AND y BETWEEN ? AND ?", -1,
                            &query, NULL), database, "select");
    for (int number; (number = atomic_fetch_add(&next_query, 1)) < queries;) {
        uint64_t state = 88172645463325252u + (uint64_t)number * 2654435761u;
        drawn(&state);
        int x = (int)(drawn(&state) % (SIDE * 9 / 10)), y = (int)(drawn(&state) % (SIDE * 9 / 10));
        sqlite3_bind_int(query, 1, x);
        sqlite3_bind_int(query, 2, x + SIDE / 10);
        sqlite3_bind_int(query, 3, y);
        sqlite3_bind_int(query, 4, y + SIDE / 10);
        must(sqlite3_step(query), database, "select");
        double mean = sqlite3_column_double(query, 0);
        if (mean < 1 || mean > 6) {
            fprintf(stderr, "query: the mean of 1 to 6 passengers was %g\n", mean);
            exit(1);
        }
        sqlite3_reset(query);
    }
    sqlite3_finalize(query);
    must(sqlite3_close(database), database, "close");
    return NULL;
}

int main(int count, char **words)
{
    struct timespec begin, end;

    if (count == 5 && strcmp(words[1], "make") == 0)
        return make(words[2], atol(words[3]), atoi(words[4]));
    if (count != 7 || strcmp(words[1], "run") != 0) {
        fprintf(stderr, "usage: query make FILE ROWS PAGE_SIZE | query run FILE THREADS CACHE_KIB QUERIES shared|private\n");
        return 2;
    }
    int threads = atoi(words[3]);
    pthread_t started[64];
    file = words[2], cache_kib = atoi(words[4]), queries = atoi(words[5]), is_shared = strcmp(words[6], "shared") == 0;
    if (threads < 1 || threads > 64)
        return 2;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int thread = 0; thread < threads; thread++) {
        if (pthread_create(&started[thread], NULL, ask, NULL) != 0)
            return 1;
        pthread_setname_np(started[thread], "query");
    }
    for (int thread = 0; thread < threads; thread++)
        pthread_join(started[thread], NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
    printf("{\"queries\":%d,\"queries_per_minute\":%.1f}\n", queries, queries / seconds * 60);
    return 0;
}
