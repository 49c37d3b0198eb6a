"""How far a thread's account in the kernel may differ from what a trace shows, request by request.

What `ground_truth.py` holds `slowpath thread-states` against. Not an oracle of states itself.

A program read its account (time on a processor, time runnable) somewhere outside of the request's
span, so the account is at least the state's time in the span and at most that in the window between
the readings. The kernel reads its clock for the account a little before the trace writes the event,
and a virtual processor that its host stops in between makes that milliseconds: README of the traces.
How early the reading can be follows from the trace:

- switch: after the processor's event before it. But where a wake-up on the processor is what
  preempts, Linux keeps the clock of that wake-up (`rq_clock_skip_update` in `check_preempt_curr`).
- wake-up: after the processor's event before it.
- migration of a runnable thread: each processor keeps a clock of its own, and it stands still since
  the processor's event before.
"""

import bisect
import collections

from babeltrace_text import Trace

# Rates of the two clocks, and reading one after the other.
TOLERANCE_NS = 100_000

WAKE_UPS = ("sched_wakeup", "sched_wakeup_new")
IN, PREEMPTED, BLOCKED, WOKEN, MIGRATED = "in", "preempted", "blocked", "woken", "migrated"


class Readings:
    """When the kernel read its clock for each thread, and how early that can have been."""

    def __init__(self, trace):
        self.of_thread = collections.defaultdict(list)  # tid -> rising (ns, which, ns it can be early)
        latest = {}  # cpu -> its latest event
        first_wake_up = {}  # cpu -> the first wake-up to it since its latest switch
        for event in Trace([trace]):
            cpu, ns = event.cpu, event.ns
            early = ns - latest.get(cpu, ns)
            if event.name == "sched_switch":
                fields = event.fields
                preempted = fields["prev_state"] & 0xFF == 0
                woken_at = first_wake_up.pop(cpu, ns)
                if preempted:
                    early = max(early, ns - woken_at)
                self.of_thread[fields["next_tid"]].append((ns, IN, early))
                self.of_thread[fields["prev_tid"]].append((ns, PREEMPTED if preempted else BLOCKED, early))
            elif event.name in WAKE_UPS:
                first_wake_up.setdefault(event.fields["target_cpu"], ns)
                self.of_thread[event.fields["tid"]].append((ns, WOKEN, early))
            elif event.name == "sched_migrate_task":
                fields = event.fields
                both = (cpu, fields["orig_cpu"], fields["dest_cpu"])
                early = max(ns - latest.get(each, ns) for each in both)
                self.of_thread[fields["tid"]].append((ns, MIGRATED, early))
                continue  # between the reading and the event of a switch there can be migrations
            latest[cpu] = ns
        for readings in self.of_thread.values():
            readings.sort()

    def early(self, tid, begin_ns, end_ns):
        """Sums by which, over [begin, end]."""
        readings = self.of_thread.get(tid, [])
        sums = collections.Counter()
        first = bisect.bisect_left(readings, (begin_ns,))
        for ns, which, early in readings[first:]:
            if ns > end_ns:
                break
            sums[which] += early
        return sums


def windows_of_readings(requests):
    """Between which times each request's account was read, the program's clock.

    Where the record does not say: after the thread's request before, and before its next. A first or
    last request has no such bound and gets its own length.
    """
    by_thread = collections.defaultdict(list)
    for request in requests:
        by_thread[request["tid"]].append(request)
    windows = {}
    for those in by_thread.values():
        those.sort(key=lambda request: request["start_ns"])
        for number, request in enumerate(those):
            length = request["end_ns"] - request["start_ns"]
            before = those[number - 1]["end_ns"] if number else request["start_ns"] - length
            after = those[number + 1]["start_ns"] if number + 1 < len(those) else request["end_ns"] + length
            begin_ns = request.get("account_from_ns", before)
            windows[id(request)] = begin_ns, request.get("account_to_ns", after)
    return [windows[id(request)] for request in requests]


def brackets(request, span, window, early):
    """State -> (least, recorded, most), for one request."""
    recorded = {"running": request["cpu_ns"], "runnable": request["run_delay_ns"]}
    recorded["either"] = sum(recorded.values())  # so the rest of the time, blocked, is held too
    less = {
        "running": early[BLOCKED] + early[PREEMPTED],
        "runnable": early[IN] + early[MIGRATED],
        "either": early[BLOCKED] + early[MIGRATED],
    }
    more = {"running": early[IN], "runnable": early[PREEMPTED] + early[WOKEN], "either": early[WOKEN]}
    time = lambda answer, state: (
        answer["running_ns"] + answer["runnable_ns"] if state == "either" else answer[state + "_ns"]
    )
    return {
        state: (time(span, state) - less[state], ns, time(window, state) + window["unknown_ns"] + more[state])
        for state, ns in recorded.items()
    }


def inside(bracket):
    least, recorded, most = bracket
    return least - TOLERANCE_NS <= recorded <= most + TOLERANCE_NS
