"""What the kernel charged threads for, beside how long they ran: why `/proc/PID/schedstat` and `slowpath cpu` differ.

Arguments: a recording with the events `sched,sched:sched_stat_runtime`, and what `slowpath events --format jsonl` says
of it. Linux
charges a thread whose wake-up preempts another from the clock reading of that wake-up, not from the switch
(`rq_clock_skip_update` in `wakeup_preempt`), and the other one until then. One JSON line for each thread of the
recording's accounts, of the time between the recorder's two looks at them:

- `proc_ns`: what `/proc` counted
- `charged_ns`: the sum of what the kernel's own events say it charged
- `ran_ns`: from switches alone
- `unexplained_ns`: of each run by itself, what was charged for it and lies outside of its time on the processor, of
  the time from its wake-up to its begin and of that from the next thread's wake-up to its end. A switch takes time,
  too: the kernel charges the thread that leaves before it picks the next one, so a run ends here with its last charge
"""

import collections
import json
import sys

WAKE_UPS = ("sched_waking", "sched_wakeup_new")


class Run:
    """A thread on a processor, and what it was charged meanwhile."""

    def __init__(self, thread, switched_at, since, early):
        self.thread, self.switched_at, self.since, self.early = thread, switched_at, since, early
        self.charged, self.charged_at = 0, since

    def unexplained(self, until, late):
        ran = until - self.since
        return max(self.charged - ran - self.early, ran - late - self.charged, 0)


def lines(path):
    with open(path, encoding="utf-8") as file:
        yield from map(json.loads, file)


def main():
    with open(sys.argv[1] + "/slowpath.json", encoding="utf-8") as file:
        manifest = json.load(file)
    offset = manifest["clocks"][0]["offset_to_epoch_ns"]
    first, last = manifest["accounts"]["begin"], manifest["accounts"]["end"]
    windows = {
        after["tid"]: (offset + before["at_ns"], offset + after["at_ns"]) for before, after in zip(first, last)
    }

    def is_within(thread, *times):
        begin, end = windows.get(thread, (0, -1))
        return all(begin <= at <= end for at in times)

    sums = collections.defaultdict(collections.Counter)
    running = {}  # by processor
    woken = {}  # thread -> when
    for event in lines(sys.argv[2]):
        now, processor, fields = event["ns"], event["cpu"], event["fields"]
        run = running.get(processor)
        if event["name"] in WAKE_UPS:
            woken[fields["pid"]] = now
        elif event["name"] == "sched_stat_runtime":
            if is_within(fields["pid"], now):
                sums[fields["pid"]]["charged_ns"] += fields["runtime"]
            if run and run.thread == fields["pid"]:
                run.charged, run.charged_at = run.charged + fields["runtime"], now
        elif event["name"] == "sched_switch":
            # The idle thread is never charged.
            until = run.charged_at if run and run.charged else now
            when = woken.pop(fields["next_pid"], until)
            early = max(until - when, 0) if run and when >= run.since else 0
            if run and is_within(run.thread, run.since, now):
                sums[run.thread]["ran_ns"] += now - run.switched_at
                sums[run.thread]["unexplained_ns"] += run.unexplained(until, early)
            running[processor] = Run(fields["next_pid"], now, until, early)
    for before, after in zip(first, last):
        row = {"tid": after["tid"], "comm": after["comm"]}
        row["proc_ns"] = after["schedstat_run_ns"] - before["schedstat_run_ns"]
        names = ("charged_ns", "ran_ns", "unexplained_ns")
        print(json.dumps(row | {name: sums[after["tid"]][name] for name in names}))


main()
