/*
 * A small order service that has something to find: for five seconds its threads wait for one
 * another, for the disk, for a server and for a processor, each for a reason that is built in.
 *
 *   order-1…3     book orders in a ledger: one lock, held while the ledger is written and synced
 *   checkpoint    now and then takes the same lock and syncs for a long time
 *   price-client  asks price-server, a process of its own, over loopback TCP; that one computes
 *   audit-writer  writes to the disk past the page cache
 *   heartbeat     has little to do, on the processor that report-1 and report-2 keep busy
 *
 * Usage: orders RECORD_FILE DATA_FOLDER [SECONDS]. What each did and how long it took goes to
 * RECORD_FILE (record.h). Not a benchmark: how much is done depends on the machine.
 */
#define _GNU_SOURCE
#include "record.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ORDERS = 3, REPORTS = 2 };
/* Places in the record. */
enum {
	FIRST_ORDER = 0,
	CHECKPOINT = FIRST_ORDER + ORDERS,
	PRICE_CLIENT,
	PRICE_SERVER,
	AUDIT_WRITER,
	HEARTBEAT,
	FIRST_REPORT,
	PARTICIPANTS = FIRST_REPORT + REPORTS,
};

static const uint64_t MS = 1000000;
static const size_t ORDER_BYTES = 4096, CHECKPOINT_BYTES = 4 << 20, AUDIT_BYTES = 256 << 10;

static const char *data_folder;
static uint64_t deadline_ns;
static struct sockaddr_in price_address;

static pthread_mutex_t ledger_lock = PTHREAD_MUTEX_INITIALIZER;
static int ledger;

static void must(bool fine, const char *what)
{
	if (!fine) {
		fprintf(stderr, "orders: cannot %s: %s\n", what, strerror(errno));
		exit(1);
	}
}

static bool time_left(void)
{
	return now_ns() < deadline_ns;
}

static void sleep_until(uint64_t at_ns)
{
	struct timespec at = { (time_t)(at_ns / 1000000000u), (long)(at_ns % 1000000000u) };
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

static void sleep_ms(uint64_t ms)
{
	sleep_until(now_ns() + ms * MS);
}

/* Uses `ms` of processor time, however long that takes. */
static void compute_ms(uint64_t ms)
{
	struct timespec used;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	uint64_t enough = (uint64_t)used.tv_sec * 1000 * MS + (uint64_t)used.tv_nsec + ms * MS;
	do {
		for (volatile int i = 0; i < 20000; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	} while ((uint64_t)used.tv_sec * 1000 * MS + (uint64_t)used.tv_nsec < enough);
}

static int open_data(const char *name, int flags)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/%s", data_folder, name);
	return open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC | flags, 0644);
}

/* Takes the ledger's lock; the stretch is the wait for it. */
static struct stretch lock_ledger(void)
{
	struct stretch wait = { now_ns(), 0 };
	pthread_mutex_lock(&ledger_lock);
	wait.end_ns = now_ns();
	return wait;
}

static void unlock_ledger(struct page *page, uint64_t since_ns)
{
	record_hold(page, (struct stretch){ since_ns, now_ns() });
	pthread_mutex_unlock(&ledger_lock);
}

static void *order(void *argument)
{
	unsigned number = (unsigned)(uintptr_t)argument;
	char comm[16];
	snprintf(comm, sizeof comm, "order-%u", number + 1);
	struct page *page = record_join(FIRST_ORDER + number, comm, "books orders in the ledger", "book order");
	char *entry = calloc(1, ORDER_BYTES);
	must(entry != NULL, "get memory");
	while (time_left()) {
		struct request request = { { now_ns(), 0 }, { 0, 0 } };
		compute_ms(1);
		request.lock_wait = lock_ledger();
		must(pwrite(ledger, entry, ORDER_BYTES, 0) > 0 && fsync(ledger) == 0, "write the ledger");
		unlock_ledger(page, request.lock_wait.end_ns);
		request.whole.end_ns = now_ns();
		record_request(page, request);
		sleep_ms(7 + 3 * number);
	}
	free(entry);
	return NULL;
}

static void *checkpoint(void *unused)
{
	struct page *page = record_join(CHECKPOINT, "checkpoint", "syncs the ledger under its lock", NULL);
	char *snapshot = malloc(CHECKPOINT_BYTES);
	must(snapshot != NULL, "get memory");
	memset(snapshot, 'c', CHECKPOINT_BYTES);
	for (uint64_t due = now_ns() + 600 * MS; due < deadline_ns; due += 1100 * MS) {
		sleep_until(due);
		uint64_t since = lock_ledger().end_ns;
		do
			must(pwrite(ledger, snapshot, CHECKPOINT_BYTES, (off_t)ORDER_BYTES) > 0 && fsync(ledger) == 0,
			     "write the ledger");
		while (now_ns() < since + 150 * MS);
		unlock_ledger(page, since);
	}
	free(snapshot);
	return unused;
}

static void *price_client(void *unused)
{
	struct page *page = record_join(PRICE_CLIENT, "price-client", "asks for prices over TCP", "ask price");
	int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(connect(connection, (struct sockaddr *)&price_address, sizeof price_address) == 0,
	     "connect to price-server");
	setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	char question[64] = "price?";
	while (time_left()) {
		struct request request = { { now_ns(), 0 }, { 0, 0 } };
		must(send(connection, question, sizeof question, 0) == sizeof question, "ask");
		must(recv(connection, question, sizeof question, MSG_WAITALL) == sizeof question, "hear");
		request.whole.end_ns = now_ns();
		record_request(page, request);
		sleep_ms(10);
	}
	close(connection);
	return unused;
}

/* A process of its own; ends when the client hangs up. */
static void price_server(int listener)
{
	struct page *page = record_join(PRICE_SERVER, "price-server", "computes prices", "compute price");
	record_answers(page, PRICE_CLIENT);
	int connection = accept(listener, NULL, NULL);
	must(connection >= 0, "accept the client");
	setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	char question[64];
	while (recv(connection, question, sizeof question, MSG_WAITALL) == sizeof question) {
		struct request request = { { now_ns(), 0 }, { 0, 0 } };
		compute_ms(4);
		request.whole.end_ns = now_ns();
		record_request(page, request);
		must(send(connection, question, sizeof question, 0) == sizeof question, "answer");
	}
}

static void *audit_writer(void *unused)
{
	struct page *page = record_join(AUDIT_WRITER, "audit-writer", "writes past the page cache", "write audit");
	void *block;
	must(posix_memalign(&block, 4096, AUDIT_BYTES) == 0, "get memory");
	memset(block, 'a', AUDIT_BYTES);
	int audit = open_data("audit", O_DIRECT);
	if (audit < 0 && errno == EINVAL) /* a file system without O_DIRECT */
		audit = open_data("audit", O_DSYNC);
	must(audit >= 0, "open the audit file");
	for (unsigned i = 0; time_left(); i++) {
		struct request request = { { now_ns(), 0 }, { 0, 0 } };
		off_t place = (off_t)(i % 64 * AUDIT_BYTES);
		must(pwrite(audit, block, AUDIT_BYTES, place) > 0 && fsync(audit) == 0, "write the audit file");
		request.whole.end_ns = now_ns();
		record_request(page, request);
		sleep_ms(20);
	}
	close(audit);
	free(block);
	return unused;
}

/* Keeps the calling thread on the last of the processors that it may use. */
static void share_one_processor(void)
{
	cpu_set_t allowed, one;
	must(sched_getaffinity(0, sizeof allowed, &allowed) == 0, "list the processors");
	size_t last = CPU_SETSIZE - 1;
	while (last > 0 && !CPU_ISSET(last, &allowed))
		last--;
	CPU_ZERO(&one);
	CPU_SET(last, &one);
	must(sched_setaffinity(0, sizeof one, &one) == 0, "choose a processor");
}

static void *report(void *argument)
{
	unsigned number = (unsigned)(uintptr_t)argument;
	char comm[16];
	snprintf(comm, sizeof comm, "report-%u", number + 1);
	record_join(FIRST_REPORT + number, comm, "computes all the time", NULL);
	share_one_processor();
	while (time_left())
		compute_ms(50);
	return NULL;
}

static void *heartbeat(void *unused)
{
	struct page *page = record_join(HEARTBEAT, "heartbeat", "beats on the processor of the reports", "beat");
	share_one_processor();
	setpriority(PRIO_PROCESS, (id_t)page->tid, 3);
	for (uint64_t due = now_ns() + 50 * MS; due < deadline_ns; due += 50 * MS) {
		sleep_until(due);
		compute_ms(2);
		record_request(page, (struct request){ { due, now_ns() }, { 0, 0 } });
	}
	return unused;
}

static int listen_on_loopback(void)
{
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	price_address.sin_family = AF_INET;
	price_address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	socklen_t size = sizeof price_address;
	must(bind(listener, (struct sockaddr *)&price_address, size) == 0 && listen(listener, 1) == 0 &&
		     getsockname(listener, (struct sockaddr *)&price_address, &size) == 0,
	     "listen on loopback");
	return listener;
}

static pthread_t start(void *(*participant)(void *), unsigned number)
{
	pthread_t thread;
	must(pthread_create(&thread, NULL, participant, (void *)(uintptr_t)number) == 0, "start a thread");
	return thread;
}

int main(int count, char **arguments)
{
	if (count < 3) {
		fprintf(stderr, "usage: orders RECORD_FILE DATA_FOLDER [SECONDS]\n");
		return 2;
	}
	data_folder = arguments[2];
	uint64_t seconds = count > 3 ? strtoull(arguments[3], NULL, 10) : 5;
	struct stretch run = { now_ns(), 0 };
	deadline_ns = run.begin_ns + seconds * 1000 * MS;

	must(record_open(arguments[1], PARTICIPANTS) == 0, "begin the record");
	ledger = open_data("ledger", 0);
	must(ledger >= 0, "open the ledger");
	int listener = listen_on_loopback();
	pid_t server = fork();
	must(server >= 0, "start price-server");
	if (server == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* no orphan, whatever becomes of the parent */
		price_server(listener);
		_exit(0);
	}
	close(listener);

	pthread_t threads[PARTICIPANTS];
	unsigned started = 0;
	for (unsigned i = 0; i < ORDERS; i++)
		threads[started++] = start(order, i);
	for (unsigned i = 0; i < REPORTS; i++)
		threads[started++] = start(report, i);
	threads[started++] = start(checkpoint, 0);
	threads[started++] = start(price_client, 0);
	threads[started++] = start(audit_writer, 0);
	threads[started++] = start(heartbeat, 0);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	waitpid(server, NULL, 0);

	run.end_ns = now_ns();
	must(record_write(stdout, run) == 0, "write the record");
	return 0;
}
