"""Holds thread states and critical paths against what a traced program wrote about itself.

    ground_truth.py [--slowpath BINARY] [--list KIND] TRUTH.jsonl TRACE

TRUTH is a `ground-truth*.jsonl`, TRACE the recording of the same host. With --slowpath the answers
come from `slowpath thread-states` and `slowpath critical-path`, each called once with --requests;
without it, from the oracles `thread_states.py` and `critical_path.py`. Prints one JSON document:
per kind of wait how many agree, and every disagreement with its times (epoch ns). `--list` also
shows the critical path of the disagreeing waits of a kind.

A wait agrees when the critical path of its request goes, during the wait, into a thread that the
record names. Waits in which the thread did not sleep have nothing to agree with and are counted
apart. Accounts of time are held in brackets: `accounts.py`. `unaided` are the requests that would be
in theirs if the kernel read its clock with the trace.
"""

import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

import accounts

KINDS_NAMING_A_THREAD = ("mutex", "pipe", "socket", "cond")
STATE_OF_DEVICE_WAITS = {"timer": "TIMER", "disk": "BLOCK_DEVICE"}


def kernel_folder(trace):
    for folder, _, files in sorted(os.walk(trace)):
        if "metadata" in files and os.path.basename(folder) == "kernel":
            return folder
    raise SystemExit(f"{trace}: no folder `kernel` with a metadata file")


def offset_of_clock(kernel):
    """Epoch nanoseconds of the trace clock's zero, from the metadata."""
    command = ["babeltrace2", "--output-format=ctf-metadata", kernel]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    clock = re.search(r"\bclock \{(.*?)\}", text, re.DOTALL)[1]
    seconds = re.search(r"\boffset_s = (-?\d+)", clock)
    cycles = re.search(r"\boffset = (-?\d+)", clock)
    return int(seconds[1] if seconds else 0) * 10**9 + int(cycles[1] if cycles else 0)


def named_threads(wait, waits):
    """The threads that the record names for a wait.

    A mutex wait without a list of holders names only the one seen at its start. Who held it later
    is in the other waits for it: those seen holding it at the start of a wait that overlaps,
    and those whose own wait for it ended meanwhile.
    """
    named = {holder["tid"] for holder in wait.get("holders", ())}
    named |= {wait[key] for key in ("holder_tid", "waker_tid", "peer_tid") if wait.get(key)}
    if wait["kind"] == "mutex" and "holders" not in wait:
        for other_request, other in waits:
            if other["kind"] != "mutex" or other is wait:
                continue
            if other["start_ns"] < wait["end_ns"] and other["end_ns"] > wait["start_ns"]:
                named.add(other["holder_tid"])
                if other["end_ns"] < wait["end_ns"]:
                    named.add(other_request["tid"])
    return named


class Answers:
    """Asks slowpath, or the oracles, about many windows at once."""

    def __init__(self, slowpath, trace):
        self.slowpath, self.trace = slowpath, trace

    def ask(self, question, windows):
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            for tid, begin_ns, end_ns in windows:
                print(json.dumps({"tid": tid, "begin_ns": begin_ns, "end_ns": end_ns}), file=file)
            file.flush()
            if self.slowpath:
                command = [self.slowpath, question, self.trace, "--requests", file.name, "--json"]
            else:
                script = os.path.join(os.path.dirname(__file__), question.replace("-", "_") + ".py")
                kernel = os.path.join(self.trace, "kernel")
                command = [sys.executable, script, "--requests", file.name, kernel]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}: ended with status {done.returncode}")
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        asked = [list(window) for window in windows]
        if [[answer["tid"], answer["begin_ns"], answer["end_ns"]] for answer in answers] != asked:
            raise SystemExit(f"{' '.join(command)}: the answers are not one per request, in order")
        return answers


def check_states(answers, requests, offset, readings):
    spans = [(request["tid"], request["start_ns"] + offset, request["end_ns"] + offset) for request in requests]
    windows = [
        (request["tid"], begin_ns + offset, end_ns + offset)
        for request, (begin_ns, end_ns) in zip(requests, accounts.windows_of_readings(requests))
    ]
    inside, widths, wrong_sums, outside = collections.Counter(), collections.defaultdict(list), [], []
    in_spans, in_windows = answers.ask("thread-states", spans), answers.ask("thread-states", windows)
    for request, span, window in zip(requests, in_spans, in_windows):
        for answer in (span, window):
            said = sum(answer[key + "_ns"] for key in ("running", "runnable", "blocked", "unknown"))
            if said != answer["end_ns"] - answer["begin_ns"]:
                wrong_sums.append(answer)
        early = readings.early(window["tid"], window["begin_ns"], window["end_ns"])
        brackets = accounts.brackets(request, span, window, early)
        for state, bracket in brackets.items():
            widths[state].append(bracket[2] - bracket[0])
            inside[state] += accounts.inside(bracket)
        inside["unaided"] += all(map(accounts.inside, accounts.brackets(request, span, window, collections.Counter()).values()))
        if not all(map(accounts.inside, brackets.values())) or span["unknown_ns"]:
            outside.append(span | {"brackets": brackets})
    middle = lambda values: sorted(values)[len(values) // 2]
    return {
        "requests": len(requests),
        "inside": dict(inside),
        "not_adding_up": wrong_sums,
        "median_width_ns": {state: middle(values) for state, values in widths.items()},
        "outside": outside,
    }


def check_paths(answers, requests, offset, shown_kind):
    # A wait can outlast its window by the time the program took to read its clock.
    waits = [
        (request, wait)
        for request in requests
        for wait in request["waits"]
        if "start_ns" in wait and wait["end_ns"] > wait["start_ns"]
    ]
    windows = [(request["tid"], request["start_ns"] + offset, request["end_ns"] + offset) for request in requests]
    paths = dict(zip(map(id, requests), answers.ask("critical-path", windows)))
    wait_windows = [(request["tid"], wait["start_ns"] + offset, wait["end_ns"] + offset) for request, wait in waits]
    states = answers.ask("thread-states", wait_windows)
    rows = collections.defaultdict(lambda: {"agreed": 0, "total": 0, "did_not_sleep": 0, "disagreements": []})
    for (request, wait), state in zip(waits, states):
        row = rows[wait["kind"]]
        if state["blocked_ns"] == 0:
            row["did_not_sleep"] += 1
            continue
        row["total"] += 1
        begin_ns, end_ns = state["begin_ns"], state["end_ns"]
        during = [
            segment
            for segment in paths[id(request)]["segments"]
            if segment["begin_ns"] < end_ns and segment["end_ns"] > begin_ns
        ]
        if wait["kind"] in STATE_OF_DEVICE_WAITS:
            named = {STATE_OF_DEVICE_WAITS[wait["kind"]]}
            seen = {segment["state"] for segment in during}
        else:
            named = named_threads(wait, waits) - {request["tid"]}
            seen = {segment["tid"] for segment in during}
        if named & seen:
            row["agreed"] += 1
        else:
            disagreement = {
                "tid": request["tid"], "begin_ns": begin_ns, "end_ns": end_ns,
                "blocked_ns": state["blocked_ns"], "named": sorted(named), "seen": sorted(seen),
            }  # fmt: skip
            if wait["kind"] == shown_kind:
                disagreement["path"] = during
            row["disagreements"].append(disagreement)
    for kind, row in rows.items():
        row["checked"] = kind in KINDS_NAMING_A_THREAD
    return dict(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slowpath", metavar="BINARY")
    parser.add_argument("--list", metavar="KIND")
    parser.add_argument("truth")
    parser.add_argument("trace")
    options = parser.parse_args()
    kernel = kernel_folder(options.trace)
    offset = offset_of_clock(kernel)
    with open(options.truth) as file:
        requests = [record for record in map(json.loads, file) if record["type"] == "request"]
    answers = Answers(options.slowpath, options.trace)
    report = {
        "states": check_states(answers, requests, offset, accounts.Readings(kernel)),
        "waits": check_paths(answers, requests, offset, options.list),
    }
    print(json.dumps(report, indent=1))
    for kind, row in sorted(report["waits"].items()):
        share = 100 * row["agreed"] / row["total"] if row["total"] else 100
        print(f"{kind:8} {row['agreed']:5} of {row['total']:5}  {share:6.2f} %", file=sys.stderr)
    states = report["states"]
    for state, inside in states["inside"].items():
        print(f"{state:8} {inside:5} of {states['requests']:5}", file=sys.stderr)


if __name__ == "__main__":
    main()
