"""Busy time of processors and threads as `slowpath cpu --json` reports it, from babeltrace2's text.

Definitions: docs/reference/definitions.md, "cpu".
"""

import collections
import json

from babeltrace_text import Threads, Trace, paths_from_command_line

IDLE = 0


def cpu(paths):
    trace = Trace(paths)
    threads = Threads()
    since = {}  # processor -> since when its current thread is accounted for
    processors = collections.Counter()
    by_thread = collections.Counter()

    def account(processor, thread, until):
        spent = until - since[processor]
        if thread.number != IDLE and thread.number is not None:
            processors[processor] += spent
            by_thread[thread.number] += spent
        since[processor] = until

    for event in trace:
        processor = event.cpu
        if processor is None:
            continue
        since.setdefault(processor, event.ns)
        processors.setdefault(processor, 0)
        if event.name == "sched_switch":
            fields = threads.switch(event)
            account(processor, threads.thread(fields["prev_tid"]), event.ns)
    for processor, thread in threads.current.items():
        account(processor, thread, trace.end_ns)

    window = trace.end_ns - trace.begin_ns
    share = lambda ns: 100 * ns / window if window else 0.0
    return {
        "begin_ns": trace.begin_ns,
        "end_ns": trace.end_ns,
        "cpus": [
            {"cpu": number, "busy_ns": busy, "percent": share(busy)}
            for number, busy in sorted(processors.items())
        ],
        "threads": [
            {"tid": number, "comm": threads.name(number), "busy_ns": busy, "percent": share(busy)}
            for number, busy in sorted(by_thread.items(), key=lambda row: (-row[1], row[0]))
            if busy
        ],
    }


if __name__ == "__main__":
    print(json.dumps(cpu(paths_from_command_line("TRACE...")), indent=1))
