/*
 * The participants' own record: kept in shared memory, written as JSON lines at the end.
 * See record.h for what it is good for. Knows nothing of what the participants do.
 */
#define _GNU_SOURCE
#include "record.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static struct page *pages;
static unsigned page_count;
static FILE *out;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec at;
	clock_gettime(clock, &at);
	return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

int record_open(const char *path, unsigned participants)
{
	out = fopen(path, "we");
	if (!out)
		return -1;
	void *memory = mmap(NULL, participants * sizeof *pages, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return -1;
	pages = memory;
	page_count = participants;
	return 0;
}

struct page *record_join(unsigned participant, const char *comm, const char *role, const char *operation)
{
	struct page *page = &pages[participant];
	prctl(PR_SET_NAME, comm);
	snprintf(page->comm, sizeof page->comm, "%s", comm);
	page->role = role;
	page->operation = operation;
	page->pid = getpid();
	page->tid = gettid();
	return page;
}

void record_answers(struct page *page, unsigned caller)
{
	page->caller = &pages[caller];
}

void record_request(struct page *page, struct request request)
{
	if (page->request_count < MOST_ENTRIES)
		page->requests[page->request_count++] = request;
}

void record_hold(struct page *page, struct stretch hold)
{
	if (page->hold_count < MOST_ENTRIES)
		page->holds[page->hold_count++] = hold;
}

static uint64_t length(struct stretch stretch)
{
	return stretch.end_ns - stretch.begin_ns;
}

static uint64_t overlap(struct stretch a, struct stretch b)
{
	uint64_t begin = a.begin_ns > b.begin_ns ? a.begin_ns : b.begin_ns;
	uint64_t end = a.end_ns < b.end_ns ? a.end_ns : b.end_ns;
	return end > begin ? end - begin : 0;
}

static const struct request *slowest_of(const struct page *page)
{
	const struct request *slowest = NULL;
	for (unsigned i = 0; i < page->request_count; i++)
		if (!slowest || length(page->requests[i].whole) > length(slowest->whole))
			slowest = &page->requests[i];
	return slowest;
}

static void write_page(FILE *out, const struct page *page)
{
	const struct request *slowest = slowest_of(page);
	fprintf(out,
		"{\"type\":\"thread\",\"pid\":%d,\"tid\":%d,\"comm\":\"%s\",\"role\":\"%s\","
		"\"requests\":%u,\"slowest_ns\":%llu}\n",
		page->pid, page->tid, page->comm, page->role, page->request_count,
		slowest ? (unsigned long long)length(slowest->whole) : 0);
	for (unsigned i = 0; i < page->request_count; i++) {
		const struct request *request = &page->requests[i];
		fprintf(out,
			"{\"type\":\"request\",\"tid\":%d,\"comm\":\"%s\",\"start_ns\":%llu,\"end_ns\":%llu,"
			"\"lock_wait_start_ns\":%llu,\"lock_wait_end_ns\":%llu}\n",
			page->tid, page->comm, (unsigned long long)request->whole.begin_ns,
			(unsigned long long)request->whole.end_ns,
			(unsigned long long)request->lock_wait.begin_ns,
			(unsigned long long)request->lock_wait.end_ns);
	}
	for (unsigned i = 0; i < page->hold_count; i++)
		fprintf(out,
			"{\"type\":\"mutex_hold\",\"tid\":%d,\"comm\":\"%s\",\"start_ns\":%llu,\"end_ns\":%llu}\n",
			page->tid, page->comm, (unsigned long long)page->holds[i].begin_ns,
			(unsigned long long)page->holds[i].end_ns);
}

/* The participant that held the lock longest during `wait`, and for how long. */
static const struct page *main_holder(struct stretch wait, uint64_t *held_ns)
{
	const struct page *holder = NULL;
	*held_ns = 0;
	for (unsigned p = 0; p < page_count; p++) {
		uint64_t held = 0;
		for (unsigned i = 0; i < pages[p].hold_count; i++)
			held += overlap(pages[p].holds[i], wait);
		if (held > *held_ns) {
			holder = &pages[p];
			*held_ns = held;
		}
	}
	return holder;
}

static void write_slowest(FILE *out, FILE *words)
{
	const struct page *page = NULL;
	const struct request *slowest = NULL;
	for (unsigned p = 0; p < page_count; p++) {
		const struct request *own = slowest_of(&pages[p]);
		if (own && (!slowest || length(own->whole) > length(slowest->whole))) {
			page = &pages[p];
			slowest = own;
		}
	}
	if (!slowest)
		return;
	fprintf(out,
		"{\"type\":\"slowest\",\"pid\":%d,\"tid\":%d,\"comm\":\"%s\",\"role\":\"%s\","
		"\"start_ns\":%llu,\"end_ns\":%llu}\n",
		page->pid, page->tid, page->comm, page->role,
		(unsigned long long)slowest->whole.begin_ns,
		(unsigned long long)slowest->whole.end_ns);

	fprintf(words, "The slowest request took %.1f ms: one of %s (%s).\n",
		(double)length(slowest->whole) / 1e6, page->comm, page->role);
	uint64_t held_ns;
	const struct page *holder = main_holder(slowest->lock_wait, &held_ns);
	if (holder)
		fprintf(words, "It waited %.1f ms for the ledger's lock; %s held it for %.1f ms of these.\n",
			(double)length(slowest->lock_wait) / 1e6, holder->comm, (double)held_ns / 1e6);
}

int record_write(FILE *words, struct stretch run)
{
	uint64_t offset_ns = clock_ns(CLOCK_REALTIME) - now_ns();
	spans_send(pages, page_count, offset_ns);
	fprintf(out,
		"{\"type\":\"run\",\"program\":\"orders\",\"pid\":%d,\"clock\":\"CLOCK_MONOTONIC\","
		"\"realtime_minus_monotonic_ns\":%llu,\"start_ns\":%llu,\"end_ns\":%llu}\n",
		getpid(), (unsigned long long)offset_ns, (unsigned long long)run.begin_ns,
		(unsigned long long)run.end_ns);
	for (unsigned p = 0; p < page_count; p++)
		write_page(out, &pages[p]);
	write_slowest(out, words);
	return fclose(out);
}
