/* Reads the records of a process with probes, and switches its probes, from another process: the C interface of
 * libslowpath_probes_reader. What it does is a few lines over the shared memory (docs/formats/probes.md), which other
 * languages read by themselves. Several readers share the records of a process: each goes to one of them.
 *
 * A reader belongs to one thread at a time. Messages are sentences without a final stop. */
#ifndef SLOWPATH_PROBES_READER_H
#define SLOWPATH_PROBES_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct slowpath_reader;

/* Opens the memory of a process by its number, or that in a file of SLOWPATH_PROBES_DIR, which may have ended. NULL if
 * there is none; `message` then says why. */
struct slowpath_reader *slowpath_reader_open(int pid, char *message, size_t capacity);
struct slowpath_reader *slowpath_reader_open_file(const char *path, char *message, size_t capacity);
void slowpath_reader_close(struct slowpath_reader *reader);

/* Listing 1 of the paper, and when it was on CLOCK_MONOTONIC. Fields that are durations are in nanoseconds. */
struct slowpath_record {
    uint64_t timestamp_ns;
    uint32_t thread;
    uint32_t type; /* one bit: enum slowpath_probe_type */
    uint16_t probe;
    uint16_t processor;
    uint8_t field_count;
    uint64_t fields[6];
};

/* Takes up to `capacity` records, at most `each` from one queue before the next one's turn comes; the records of a queue in
 * the order in which they were stored. Returns how many; 0: none are there. Never waits. */
size_t slowpath_reader_read(struct slowpath_reader *reader, struct slowpath_record *records, size_t capacity, size_t each);

/* Of all queues, since the process began: stored = read (by any reader) + waiting + lost (sacrificed to newer ones); and
 * records refused as a thread found no memory for them, probes that found no room in the table. Looks at every slot. */
struct slowpath_reader_counts {
    uint64_t stored, read, waiting, lost, refused, probes_refused;
};
void slowpath_reader_count(struct slowpath_reader *reader, struct slowpath_reader_counts *counts);

/* Switches probes: "all", or a list of TYPE, TYPE:ID, each with "/N" if every N-th execution is to make a record, separated
 * by commas. `every`: 0 off, N, or UINT32_MAX as the source says. NULL, or what is wrong with the list. */
const char *slowpath_reader_switch(struct slowpath_reader *reader, const char *probes, uint32_t every);

/* A probe that the process reached, or that somebody switched by its id. */
struct slowpath_reader_probe {
    uint32_t type;
    uint16_t id;
    uint32_t every;   /* 0: off */
    uint32_t written; /* 0: not reached yet */
    int unavailable;  /* errno why it has no values here, or 0 */
    char name[48];
};
/* The probe number `index`; false if there are no more. */
bool slowpath_reader_probe(struct slowpath_reader *reader, size_t index, struct slowpath_reader_probe *probe);

/* In the process's own PID namespace; its name; whether it still runs (of a file: whether a process of that number does). */
uint32_t slowpath_reader_process(struct slowpath_reader *reader);
const char *slowpath_reader_program(struct slowpath_reader *reader);
bool slowpath_reader_runs(struct slowpath_reader *reader);

/* CNT, LAT… */
const char *slowpath_type_name(uint32_t type);

#ifdef __cplusplus
}
#endif

#endif
