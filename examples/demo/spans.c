/*
 * Tells the participants' requests as spans of distributed traces, as an application with OpenTelemetry
 * would: OTLP over HTTP, once, at the end, to where OTEL_EXPORTER_OTLP_ENDPOINT says. `slowpath record`
 * sets that for the command that it records. Not an exporter for anything else: a failure costs the spans.
 */
#define _GNU_SOURCE
#include "record.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Connects to http://A.B.C.D:PORT; -1 where the address is another kind. */
static int connect_to(const char *endpoint)
{
	char address[64];
	unsigned port;
	struct sockaddr_in peer = { .sin_family = AF_INET };
	if (!endpoint || sscanf(endpoint, "http://%63[0-9.]:%u", address, &port) != 2 ||
	    inet_pton(AF_INET, address, &peer.sin_addr) != 1)
		return -1;
	peer.sin_port = htons((uint16_t)port);
	int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (connection >= 0 && connect(connection, (struct sockaddr *)&peer, sizeof peer) != 0) {
		close(connection);
		return -1;
	}
	return connection;
}

/* The span of a participant's request; the ids say whose it is. */
static void write_span(FILE *out, const struct page *page, unsigned number, uint64_t offset_ns)
{
	const struct request *request = &page->requests[number];
	/* A question to the server and its answer are one trace. */
	unsigned trace = page->caller ? (unsigned)page->caller->tid : (unsigned)page->tid;
	fprintf(out,
		"{\"traceId\":\"%016x%08x%08x\",\"spanId\":\"%08x%08x\",\"name\":\"%s\",\"kind\":%d,"
		"\"startTimeUnixNano\":\"%llu\",\"endTimeUnixNano\":\"%llu\","
		"\"attributes\":[{\"key\":\"thread.id\",\"value\":{\"intValue\":\"%d\"}}]",
		0x0de70u, trace, number + 1, (unsigned)page->tid, number + 1, page->operation,
		page->caller ? 2 : 1,
		(unsigned long long)(request->whole.begin_ns + offset_ns),
		(unsigned long long)(request->whole.end_ns + offset_ns), page->tid);
	if (page->caller)
		fprintf(out, ",\"parentSpanId\":\"%08x%08x\"", (unsigned)page->caller->tid, number + 1);
	fprintf(out, "}");
}

static void write_service(FILE *out, const struct page *page, uint64_t offset_ns)
{
	fprintf(out,
		"{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":{\"stringValue\":\"%s\"}},"
		"{\"key\":\"process.pid\",\"value\":{\"intValue\":\"%d\"}}]},\"scopeSpans\":[{\"spans\":[",
		page->caller ? "prices" : "orders", page->pid);
	for (unsigned i = 0; i < page->request_count; i++) {
		if (i > 0)
			fprintf(out, ",");
		write_span(out, page, i, offset_ns);
	}
	fprintf(out, "]}]}");
}

void spans_send(const struct page *pages, unsigned count, uint64_t offset_ns)
{
	int connection = connect_to(getenv("OTEL_EXPORTER_OTLP_ENDPOINT"));
	if (connection < 0)
		return;
	char *body = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&body, &size);
	fprintf(out, "{\"resourceSpans\":[");
	const char *separator = "";
	for (unsigned i = 0; i < count; i++) {
		if (!pages[i].operation || pages[i].request_count == 0)
			continue;
		fprintf(out, "%s", separator);
		write_service(out, &pages[i], offset_ns);
		separator = ",";
	}
	fprintf(out, "]}");
	fclose(out);
	dprintf(connection,
		"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
		"Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n", size);
	for (size_t sent = 0; sent < size;) {
		ssize_t now = send(connection, body + sent, size - sent, MSG_NOSIGNAL);
		if (now <= 0)
			break;
		sent += (size_t)now;
	}
	char answer[256];
	while (recv(connection, answer, sizeof answer, 0) > 0)
		;
	close(connection);
	free(body);
}
