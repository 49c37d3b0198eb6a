"""How long system calls, interrupts, block requests and wake-ups took, as `slowpath latency --json`
reports it, from babeltrace2's text.

Definitions: docs/reference/definitions.md, "latency".
"""

import collections
import json

from babeltrace_text import Threads, Trace, paths_from_command_line, system_call

KINDS = ("syscall", "irq", "softirq", "block", "wakeup")
SOFTIRQS = "HI TIMER NET_TX NET_RX BLOCK IRQ_POLL TASKLET SCHED HRTIMER RCU".split()
MINOR_BITS = 20


def latency(paths):
    trace = Trace(paths)
    threads = Threads()
    samples = {kind: collections.defaultdict(list) for kind in KINDS}
    interrupts = collections.defaultdict(list)  # processor -> [(line, name, begin)]
    softirqs = {}  # (processor, vector) -> begin
    requests = {}  # (device, sector) -> begin
    disks = {}
    woken = {}  # tid -> first wake-up since it ran
    last_names = {}

    for event in trace:
        name = event.name
        if name == "sched_switch":
            fields = threads.switch(event)
            woken.pop(fields["prev_tid"], None)
            began = woken.pop(fields["next_tid"], None)
            if began is not None:
                samples["wakeup"][fields["next_tid"]].append(event.ns - began)
                last_names[fields["next_tid"]] = fields["next_comm"]
        elif name in ("sched_waking", "sched_wakeup", "sched_wakeup_new"):
            tid = event.fields["tid"]
            if all(thread.number != tid for thread in threads.current.values()):
                woken.setdefault(tid, event.ns)
        elif name == "irq_handler_entry":
            interrupts[event.cpu].append((event.fields["irq"], event.fields["name"], event.ns))
        elif name == "irq_handler_exit":
            if interrupts[event.cpu] and interrupts[event.cpu][-1][0] == event.fields["irq"]:
                line, handler, began = interrupts[event.cpu].pop()
                samples["irq"][f"{line} {handler}"].append(event.ns - began)
        elif name in ("irq_softirq_entry", "softirq_entry"):
            softirqs[event.cpu, event.fields["vec"]] = event.ns
        elif name in ("irq_softirq_exit", "softirq_exit"):
            began = softirqs.pop((event.cpu, event.fields["vec"]), None)
            if began is not None:
                vector = event.fields["vec"]
                label = SOFTIRQS[vector] if vector < len(SOFTIRQS) else "unknown"
                samples["softirq"][label].append(event.ns - began)
        elif name == "block_rq_issue":
            requests[event.fields["dev"], event.fields["sector"]] = event.ns
        elif name == "block_rq_complete":
            began = requests.pop((event.fields["dev"], event.fields["sector"]), None)
            if began is not None:
                samples["block"][event.fields["dev"]].append(event.ns - began)
        elif name == "lttng_statedump_block_device":
            disks[event.fields["dev"]] = event.fields["diskname"]
        else:
            call = system_call(threads, event)
            if call and call.begin_ns is not None:
                samples["syscall"][call.name].append(call.end_ns - call.begin_ns)

    number = lambda device: f"{device >> MINOR_BITS}:{device & ((1 << MINOR_BITS) - 1)}"
    samples["block"] = {disks.get(device) or number(device): found for device, found in samples["block"].items()}
    samples["wakeup"] = {f"{last_names[tid]}-{tid}": found for tid, found in samples["wakeup"].items()}
    return {kind: {"kind": kind, "entries": entries(samples[kind])} for kind in KINDS}


def entries(samples):
    rows = []
    for name, found in samples.items():
        found.sort()
        total = sum(found)
        rows.append(
            {
                "name": name,
                "count": len(found),
                "min_ns": found[0],
                "mean_ns": total // len(found),
                "p50_ns": nearest_rank(found, 50),
                "p99_ns": nearest_rank(found, 99),
                "max_ns": found[-1],
                "total_ns": total,
            }
        )
    return sorted(rows, key=lambda row: (-row["total_ns"], row["name"]))


def nearest_rank(rising, percent):
    """Number ceil(percent / 100 * n), counted from 1, in integers."""
    return rising[-(-len(rising) * percent // 100) - 1]


if __name__ == "__main__":
    arguments = paths_from_command_line("[--kind syscall|irq|softirq|block|wakeup] TRACE...")
    kind = None
    if arguments[0] == "--kind":
        kind, arguments = arguments[1], arguments[2:]
    found = latency(arguments)
    print(json.dumps(found[kind] if kind else found, indent=1))
