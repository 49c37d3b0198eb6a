/* slowpath-probes: lists the processes that have probes, switches their probes and prints their records. A thin shell over
 * the reader's library: what it prints is for people, and with --json for programs; nothing is computed from the numbers. */
#define _GNU_SOURCE
#include "slowpath_probes.h"
#include "slowpath_probes_reader.h"

#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char help[] =
    "Probes of running programs: which there are, which are on, what they measure.\n"
    "\n"
    "  slowpath-probes list [PROCESS]            processes with probes; the probes that one of them reached\n"
    "  slowpath-probes on PROCESS PROBES         each makes a record as often as the source says\n"
    "  slowpath-probes every N PROCESS PROBES    each makes a record of every N-th execution of a thread\n"
    "  slowpath-probes off PROCESS PROBES\n"
    "  slowpath-probes read PROCESS [--json] [--count N]   records, until the process ends, or N of them\n"
    "  slowpath-probes count PROCESS [--json]    how many records were stored, read and lost\n"
    "\n"
    "PROCESS is a number, the name of a program, or a file made by SLOWPATH_PROBES_DIR. PROBES is all, or a list like\n"
    "LAT,TPT:7,CNT:3/100: a type, or one probe by type and id; /N as by every.\n";

static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

static __attribute__((noreturn, format(printf, 2, 3))) void failed(const char *hint, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "error: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\nhint: %s\n", hint);
    va_end(arguments);
    exit(1);
}

/* Calls for each process whose probes can be read; returns how many. */
static int each_process(void (*call)(int pid, struct slowpath_reader *reader, void *with), void *with)
{
    char message[200];
    int found = 0;
    DIR *folder = opendir("/proc");
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        int pid = atoi(entry->d_name);
        struct slowpath_reader *reader = pid > 0 ? slowpath_reader_open(pid, message, sizeof message) : NULL;
        if (!reader)
            continue;
        found++;
        call(pid, reader, with);
        slowpath_reader_close(reader);
    }
    if (folder)
        closedir(folder);
    return found;
}

struct wanted {
    const char *name;
    int pid, matches;
};

static void match(int pid, struct slowpath_reader *reader, void *with)
{
    struct wanted *wanted = with;
    if (strcmp(slowpath_reader_program(reader), wanted->name) == 0) {
        wanted->pid = pid;
        wanted->matches++;
    }
}

static struct slowpath_reader *open_process(const char *which)
{
    static const char hint[] = "slowpath-probes list shows the processes that have probes";
    char message[200], *end;
    struct slowpath_reader *reader;
    struct wanted wanted = {which, (int)strtol(which, &end, 10), 0};
    if (strchr(which, '/')) {
        reader = slowpath_reader_open_file(which, message, sizeof message);
        if (!reader)
            failed("a file of probes is made by a program that runs with SLOWPATH_PROBES_DIR set", "%s: %s", which, message);
        return reader;
    }
    if (*end != 0 || end == which) {
        each_process(match, &wanted);
        if (wanted.matches > 1)
            failed("name one of them by its number", "%d processes with probes are called %s", wanted.matches, which);
        if (wanted.matches == 0)
            failed(hint, "no process with probes is called %s", which);
    }
    reader = slowpath_reader_open(wanted.pid, message, sizeof message);
    if (!reader)
        failed(hint, "process %s: %s", which, message);
    return reader;
}

static void list_process(int pid, struct slowpath_reader *reader, void *with)
{
    (void)with;
    struct slowpath_reader_probe probe;
    size_t probes = 0, on = 0;
    while (slowpath_reader_probe(reader, probes, &probe)) {
        probes++;
        on += probe.every != 0;
    }
    printf("%8d %-16s %6zu %6zu\n", pid, slowpath_reader_program(reader), probes, on);
}

static void list_probes(struct slowpath_reader *reader)
{
    struct slowpath_reader_probe probe;
    printf("%-8s %6s %-24s %-12s %s\n", "type", "probe", "name", "switch", "in the source");
    for (size_t index = 0; slowpath_reader_probe(reader, index, &probe); index++) {
        char every[24] = "off", written[40] = "not reached yet";
        if (probe.every == UINT32_MAX)
            strcpy(every, "on");
        else if (probe.every)
            snprintf(every, sizeof every, "every %" PRIu32, probe.every);
        if (probe.written)
            snprintf(written, sizeof written, "every %" PRIu32, probe.written);
        printf("%-8s %6u %-24s %-12s %s", slowpath_type_name(probe.type), probe.id, probe.name, every, written);
        if (probe.unavailable)
            printf("; not available here: %s", strerror(probe.unavailable));
        printf("\n");
    }
}

/* How the values of a type are called; NULL: by number. */
static const char *value_name(uint32_t type, unsigned field)
{
    static const char *const names[][4] = {
        {"executions", "all_executions", 0, 0}, {"duration_ns", 0, 0, 0},
        {"executions", "duration_ns", "all_executions", "all_duration_ns"}, {"references", "misses", 0, 0},
        {"minor", "major", 0, 0}, {"voluntary", "involuntary", 0, 0}, {"counter", "value", 0, 0}};
    return type && type < SLOWPATH_SNAPSHOT && field < 4 ? names[__builtin_ctz(type)][field] : NULL;
}

/* The name of a record's probe. Most records are of the probe before. */
static const char *name_of(struct slowpath_reader *reader, const struct slowpath_record *record)
{
    static struct slowpath_reader_probe probe;
    if (probe.type == record->type && probe.id == record->probe && probe.written)
        return probe.name;
    for (size_t index = 0; slowpath_reader_probe(reader, index, &probe); index++)
        if (probe.type == record->type && probe.id == record->probe)
            return probe.name;
    memset(&probe, 0, sizeof probe);
    return "";
}

/* A name may be any text. */
static void print_json_text(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putchar('\\');
        if ((unsigned char)*text < 32)
            printf("\\u%04x", *text);
        else
            putchar(*text);
    }
    putchar('"');
}

static void print_record(struct slowpath_reader *reader, const struct slowpath_record *record, bool json)
{
    const char *type = slowpath_type_name(record->type), *name = name_of(reader, record);
    if (json) {
        printf("{\"timestamp_ns\":%" PRIu64 ",\"process\":%" PRIu32 ",\"thread\":%" PRIu32 ",\"processor\":%u,\"type\":\"%s\","
               "\"probe\":%u,\"name\":", record->timestamp_ns, slowpath_reader_process(reader), record->thread,
               record->processor, type, record->probe);
        print_json_text(name);
        printf(",\"values\":%s", record->type == SLOWPATH_SNAPSHOT ? "[" : "{");
    } else {
        printf("%" PRIu64 ".%09" PRIu64 " thread %" PRIu32 " on %u  %s %u %s", record->timestamp_ns / 1000000000,
               record->timestamp_ns % 1000000000, record->thread, record->processor, type, record->probe, name);
    }
    for (unsigned field = 0; field < record->field_count; field++) {
        const char *called = value_name(record->type, field);
        if (json && field)
            putchar(',');
        if (json && called)
            printf("\"%s\":", called);
        else if (!json)
            printf("%s%s%s", field ? ", " : "  ", called ? called : "", called ? " " : "");
        printf("%" PRIu64, record->fields[field]);
    }
    printf("%s\n", !json ? "" : record->type == SLOWPATH_SNAPSHOT ? "]}" : "}}");
}

static void read_records(struct slowpath_reader *reader, bool json, uint64_t most)
{
    enum { BATCH = 1024 };
    static struct slowpath_record records[BATCH];
    struct slowpath_reader_counts counts;
    uint64_t printed = 0;
    while (printed < most && !interrupted) {
        bool runs = slowpath_reader_runs(reader); /* asked first: what it stored before it ended is then read, too */
        size_t read = slowpath_reader_read(reader, records, most - printed < BATCH ? (size_t)(most - printed) : BATCH, 256);
        for (size_t index = 0; index < read; index++)
            print_record(reader, &records[index], json);
        printed += read;
        if (fflush(stdout) != 0 || (read == 0 && !runs))
            break;
        if (read == 0)
            nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
    slowpath_reader_count(reader, &counts);
    fprintf(stderr, "%" PRIu64 " records; since the process began, %" PRIu64 " were lost, %" PRIu64 " refused\n", printed,
            counts.lost, counts.refused);
}

static void print_counts(struct slowpath_reader *reader, bool json)
{
    struct slowpath_reader_counts counts;
    slowpath_reader_count(reader, &counts);
    printf(json ? "{\"stored\":%" PRIu64 ",\"read\":%" PRIu64 ",\"waiting\":%" PRIu64 ",\"lost\":%" PRIu64
                  ",\"refused\":%" PRIu64 ",\"probes_refused\":%" PRIu64 "}\n"
                : "stored %" PRIu64 ", read %" PRIu64 ", waiting %" PRIu64 ", lost %" PRIu64 ", refused %" PRIu64
                  "; probes without a place %" PRIu64 "\n",
           counts.stored, counts.read, counts.waiting, counts.lost, counts.refused, counts.probes_refused);
}

static void switch_probes(const char *process, const char *probes, uint32_t every)
{
    struct slowpath_reader *reader = open_process(process);
    const char *wrong = slowpath_reader_switch(reader, probes, every);
    if (wrong)
        failed(wrong, "%s does not name probes", probes);
    slowpath_reader_close(reader);
}

int main(int count, char **arguments)
{
    const char *verb = count > 1 ? arguments[1] : "";
    bool json = false;
    uint64_t most = UINT64_MAX;
    int plain = 2;
    for (int index = 2; index < count; index++) {
        if (strcmp(arguments[index], "--json") == 0)
            json = true;
        else if (strcmp(arguments[index], "--count") == 0 && index + 1 < count)
            most = strtoull(arguments[++index], NULL, 10);
        else
            arguments[plain++] = arguments[index];
    }
    if (strcmp(verb, "list") == 0 && plain == 2) {
        printf("%8s %-16s %6s %6s\n", "process", "program", "probes", "on");
        if (each_process(list_process, NULL) == 0)
            fprintf(stderr, "no process with probes is running, or none that this user may see\n");
    } else if (strcmp(verb, "list") == 0 && plain == 3) {
        list_probes(open_process(arguments[2]));
    } else if (strcmp(verb, "on") == 0 && plain == 4) {
        switch_probes(arguments[2], arguments[3], UINT32_MAX);
    } else if (strcmp(verb, "off") == 0 && plain == 4) {
        switch_probes(arguments[2], arguments[3], 0);
    } else if (strcmp(verb, "every") == 0 && plain == 5) {
        unsigned long every = strtoul(arguments[2], NULL, 10);
        if (every == 0 || every >= UINT32_MAX)
            failed("every N: N executions make one record, at least 1", "%s is no such number", arguments[2]);
        switch_probes(arguments[3], arguments[4], (uint32_t)every);
    } else if (strcmp(verb, "read") == 0 && plain == 3) {
        signal(SIGINT, interrupt);
        signal(SIGTERM, interrupt);
        read_records(open_process(arguments[2]), json, most);
    } else if (strcmp(verb, "count") == 0 && plain == 3) {
        print_counts(open_process(arguments[2]), json);
    } else if (strcmp(verb, "--help") == 0 || strcmp(verb, "help") == 0) {
        fputs(help, stdout);
    } else {
        fputs(help, stderr);
        return 2;
    }
    return 0;
}
