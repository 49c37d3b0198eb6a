"""A plain critical path of a thread over a window, from babeltrace2's text.

Knows only switches, wake-ups and interrupts: from the window's end backwards, a blocked interval
goes to the thread in whose context the wake-up happened, or to the interrupt or timer that it
happened in; where the waker was blocked itself, on to its waker. No packets, no call names: what
`slowpath critical-path` must at least see. Requests and answers are JSON lines as of
`thread_states.py`; an answer's segments are {"begin_ns", "end_ns", "tid", "state"}.
"""

import bisect
import collections
import json
import sys

from babeltrace_text import Threads, Trace

STATES = {"running": "RUNNING", "preempted": "PREEMPTED", "woken": "WAIT_CPU"}
TIMERS = ("timer_hrtimer_expire_entry", "hrtimer_expire_entry", "timer_expire_entry")
TIMER_ENDS = ("timer_hrtimer_expire_exit", "hrtimer_expire_exit", "timer_expire_exit")
NETWORK_SOFTIRQS = (2, 3)
BLOCK_SOFTIRQS = (4, 5)
TIMER_SOFTIRQS = (1, 8)
MAX_DEPTH = 200


class TimeLines:
    """Per thread: when it was what, and at the end of each blocked interval who ended it."""

    def __init__(self, paths):
        self.changes = collections.defaultdict(list)  # tid -> [(ns, state, cause of the change)]
        self.names = {}
        threads = Threads()
        self.nested = collections.defaultdict(list)  # processor -> what interrupted it
        wakers = {}  # tid -> cause seen at its sched_waking
        for event in Trace(paths):
            name = event.name
            if name == "sched_switch":
                fields = threads.switch(event)
                self._change(fields["prev_tid"], event.ns, "blocked" if fields["prev_state"] & 0xFF else "preempted")
                self._change(fields["next_tid"], event.ns, "running")
                self.nested[event.cpu].clear()
            elif name in ("irq_handler_entry",):
                self.nested[event.cpu].append(("irq", event.fields["name"]))
            elif name in ("irq_softirq_entry", "softirq_entry"):
                self.nested[event.cpu].append(("softirq", event.fields["vec"]))
            elif name in TIMERS:
                self.nested[event.cpu].append(("timer", None))
            elif name in ("irq_handler_exit", "irq_softirq_exit", "softirq_exit") or name in TIMER_ENDS:
                if self.nested[event.cpu]:
                    self.nested[event.cpu].pop()
            elif name == "sched_waking":
                wakers[event.fields["tid"]] = self._cause(threads, event)
            elif name in ("sched_wakeup", "sched_wakeup_new"):
                tid = event.fields["tid"]
                cause = wakers.pop(tid, None) or self._cause(threads, event)
                line = self.changes[tid]
                if not line or line[-1][1] == "blocked":
                    line.append((event.ns, "woken", cause))
        self.names = threads.names

    def _change(self, tid, ns, state):
        self.changes[tid].append((ns, state, None))

    def _cause(self, threads, event):
        """(tid, None) for a thread, (None, state) for a device or timer."""
        current = threads.current.get(event.cpu)
        thread = (current.number, None) if current and current.number else (None, "UNKNOWN")
        if not self.nested[event.cpu]:
            return thread
        how, what = self.nested[event.cpu][-1]
        if how == "timer" or (how == "softirq" and what in TIMER_SOFTIRQS):
            return (None, "TIMER")
        if how == "softirq" and what in BLOCK_SOFTIRQS:
            return (None, "BLOCK_DEVICE")
        if how == "softirq" and what in NETWORK_SOFTIRQS:
            outside = [kind for kind, _ in self.nested[event.cpu][:-1]]
            return (None, "NETWORK") if "irq" in outside or thread[0] is None else thread
        if how == "irq":
            return (None, "BLOCK_DEVICE" if "virtio" in what or "ahci" in what else "NETWORK")
        return thread

    def path(self, tid, begin_ns, end_ns, depth=0):
        """Segments over [begin, end) in rising order."""
        segments = []
        line = self.changes.get(tid, [])
        at = bisect.bisect_left(line, end_ns, key=lambda change: change[0]) - 1
        now = end_ns
        while now > begin_ns:
            since, state = (line[at][0], line[at][1]) if at >= 0 else (begin_ns, None)
            since = max(since, begin_ns)
            if state in STATES:
                segments.append(segment(since, now, tid, STATES[state]))
            else:
                woken = line[at + 1] if at + 1 < len(line) and line[at + 1][0] <= now else None
                waker, device = woken[2] if woken and woken[2] else (None, "UNKNOWN")
                if waker is None or waker == tid or depth >= MAX_DEPTH:
                    segments.append(segment(since, now, tid, device or "UNKNOWN"))
                else:
                    segments.extend(reversed(self.path(waker, since, now, depth + 1)))
            now, at = since, at - 1
        return [piece for piece in reversed(segments) if piece["end_ns"] > piece["begin_ns"]]


def segment(begin_ns, end_ns, tid, state):
    return {"begin_ns": begin_ns, "end_ns": end_ns, "tid": tid, "state": state}


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[1] != "--requests":
        raise SystemExit(f"usage: {sys.argv[0]} --requests FILE.jsonl TRACE...")
    lines = TimeLines(sys.argv[3:])
    with open(sys.argv[2]) as file:
        for request in map(json.loads, file):
            window = {key: request[key] for key in ("tid", "begin_ns", "end_ns")}
            print(json.dumps(window | {"segments": lines.path(**window)}))
