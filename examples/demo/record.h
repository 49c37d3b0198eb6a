/*
 * What the demo's participants write down about themselves while they work: who did what, from when
 * to when, and who held the lock. It is the truth that slowpath's answer can be held against.
 *
 * Every participant writes only its own page of the record, so writing takes no lock; the pages lie
 * in memory that processes share. Not a tracer: slowpath never reads it.
 */
#ifndef RECORD_H
#define RECORD_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* A stretch of time, CLOCK_MONOTONIC nanoseconds, half-open. */
struct stretch {
	uint64_t begin_ns, end_ns;
};

/* One request that a participant served, and its wait for the lock (0, 0: it took none). */
struct request {
	struct stretch whole, lock_wait;
};

enum { MOST_ENTRIES = 4096 };

/* One participant's page. */
struct page {
	char comm[16];
	const char *role;
	/* What its requests are called; NULL where it serves none. */
	const char *operation;
	/* Whose question each of its requests answers, one after the other; NULL where nobody's. */
	const struct page *caller;
	pid_t pid, tid;
	unsigned request_count, hold_count;
	struct request requests[MOST_ENTRIES];
	struct stretch holds[MOST_ENTRIES];
};

/*
 * Opens the file that the record is written to at the end, and allocates the pages; before any fork. 0, or -1 with
 * errno. The file is open all the time so that whoever records the program sees its name.
 */
int record_open(const char *path, unsigned participants);

/* Names the calling thread and takes it into the record. To be called by the participant. */
struct page *record_join(unsigned participant, const char *comm, const char *role, const char *operation);

/* Whose questions the participant answers. */
void record_answers(struct page *page, unsigned caller);

/* Entries past the room for them are dropped; five seconds fill a tenth of it. */
void record_request(struct page *page, struct request request);
void record_hold(struct page *page, struct stretch hold);

/* Tells all requests as spans; times plus `offset_ns` are since the Unix epoch. See spans.c. */
void spans_send(const struct page *pages, unsigned count, uint64_t offset_ns);

/* Tells the requests as spans, writes the record as JSON lines and says in words, on `words`, which request was the slowest. */
int record_write(FILE *words, struct stretch run);

uint64_t now_ns(void);

#endif
