/* What the unit tests in C and C++ share: a check that says where it failed, and a reader of the own process. */
#ifndef SLOWPATH_PROBES_TESTS_UNIT_H
#define SLOWPATH_PROBES_TESTS_UNIT_H

#include "slowpath_probes_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            printf("FAILED: %s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

static struct slowpath_reader *reader;
static struct slowpath_record records[20000];

static inline void open_own(void)
{
    char message[200] = "";
    reader = slowpath_reader_open(getpid(), message, sizeof message);
    if (!reader)
        printf("FAILED: %s\n", message);
    CHECK(reader);
}

/* Forgets what was recorded so far, and switches. */
static inline void switched(const char *probes, uint32_t every)
{
    while (slowpath_reader_read(reader, records, 20000, 20000)) {
    }
    CHECK(slowpath_reader_switch(reader, "all", 0) == NULL);
    const char *wrong = slowpath_reader_switch(reader, probes, every);
    if (wrong)
        printf("%s\n", wrong);
    CHECK(wrong == NULL);
}

static inline size_t read_all(void)
{
    return slowpath_reader_read(reader, records, 20000, 20000);
}

#endif
