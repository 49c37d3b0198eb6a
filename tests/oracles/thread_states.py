"""Running, runnable and blocked time of threads over windows, as `slowpath thread-states` prints
it, from babeltrace2's text.

Definitions: docs/reference/definitions.md, "Thread states". Requests are JSON lines
{"tid", "begin_ns", "end_ns"}; each is answered by one line.
"""

import bisect
import collections
import json
import sys

from babeltrace_text import Trace, Threads

RUNNING, RUNNABLE, BLOCKED, UNKNOWN = "running", "runnable", "blocked", "unknown"


def time_lines(paths):
    """tid -> rising list of (ns, state from then on); and the last event's time."""
    trace = Trace(paths)
    threads = Threads()
    lines = collections.defaultdict(list)
    first_of_processor = {}
    waking = {}  # tid -> its sched_waking, while blocked, that no sched_wakeup has followed

    def becomes(tid, ns, state):
        if tid in waking and state == RUNNING and lines[tid][-1][1] == BLOCKED:
            lines[tid].append((waking[tid], RUNNABLE))
        waking.pop(tid, None)
        if not lines[tid] or lines[tid][-1][1] != state:
            lines[tid].append((ns, state))

    for event in trace:
        if event.cpu is not None:
            first_of_processor.setdefault(event.cpu, event.ns)
        if event.name == "sched_switch":
            first_switch = event.cpu not in threads.current or threads.current[event.cpu].number is None
            fields = threads.switch(event)
            if first_switch:
                becomes(fields["prev_tid"], first_of_processor[event.cpu], RUNNING)
            becomes(fields["prev_tid"], event.ns, RUNNABLE if fields["prev_state"] & 0xFF == 0 else BLOCKED)
            becomes(fields["next_tid"], event.ns, RUNNING)
        elif event.name in ("sched_wakeup", "sched_wakeup_new"):
            tid = event.fields["tid"]
            if not lines[tid] or lines[tid][-1][1] == BLOCKED:
                becomes(tid, event.ns, RUNNABLE)
        elif event.name == "sched_waking":
            tid = event.fields["tid"]
            if lines[tid] and lines[tid][-1][1] == BLOCKED:
                waking.setdefault(tid, event.ns)
    for tid, ns in waking.items():
        lines[tid].append((ns, RUNNABLE))
    return lines, trace.end_ns


def account(line, begin_ns, end_ns):
    """Time by state over [begin, end)."""
    spent = collections.Counter()
    at = bisect.bisect_right(line, begin_ns, key=lambda change: change[0]) - 1
    now, state = begin_ns, line[at][1] if at >= 0 else UNKNOWN
    for ns, next_state in line[at + 1 :]:
        if ns >= end_ns:
            break
        spent[state] += ns - now
        now, state = ns, next_state
    spent[state] += end_ns - now
    return {f"{name}_ns": spent[name] for name in (RUNNING, RUNNABLE, BLOCKED, UNKNOWN)}


def answer(paths, requests):
    lines, _ = time_lines(paths)
    for request in requests:
        yield {key: request[key] for key in ("tid", "begin_ns", "end_ns")} | account(
            lines.get(request["tid"], []), request["begin_ns"], request["end_ns"]
        )


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[1] != "--requests":
        raise SystemExit(f"usage: {sys.argv[0]} --requests FILE.jsonl TRACE...")
    with open(sys.argv[2]) as file:
        for line in answer(sys.argv[3:], map(json.loads, file)):
            print(json.dumps(line))
