"""Compares critical paths with those that Trace Compass printed.

    critical_path_reference.py [--slowpath BINARY] REFERENCE.txt TID TRACE

Asks slowpath (or the oracle `critical_path.py`) for the thread's path over the same window and
prints one JSON object, in parts of the window's length:

unknown, their_unknown   what neither names: our UNKNOWN; their UNKNOWN and DEFAULT
same_thread              both paths are in the same thread
they_know                they name a thread in a state that explains something
same_where_they_know     of that, both in the same thread
differences              the longest stretches where they know and we are elsewhere (ns from begin)
"""

import argparse
import bisect
import collections
import json

from ground_truth import Answers

UNEXPLAINED = ("UNKNOWN", "DEFAULT")
MOST_DIFFERENCES = 10


def their_path(reference):
    """[(begin_ns, end_ns, tid, state)] and the window. Edges (V) name no thread."""
    segments = []
    with open(reference) as file:
        for line in file:
            kind, *rest = line.rstrip("\n").split("\t")
            if kind == "H":
                segments.append((int(rest[0]), int(rest[1]), int(rest[3]), rest[2]))
    return segments, min(row[0] for row in segments), max(row[1] for row in segments)


def compare(theirs, ours, begin_ns, end_ns):
    """Goes over the pieces into which both paths cut the window."""
    cuts = sorted({begin_ns, end_ns} | {cut for row in theirs + ours for cut in row[:2] if begin_ns < cut < end_ns})
    seconds = collections.Counter()
    differences = []

    def at(path, begins, ns):
        found = bisect.bisect_right(begins, ns) - 1
        row = path[found] if found >= 0 else None
        return row if row and row[1] > ns else None

    their_begins, our_begins = [row[0] for row in theirs], [row[0] for row in ours]
    for begin, end in zip(cuts, cuts[1:]):
        their, our = at(theirs, their_begins, begin), at(ours, our_begins, begin)
        length = end - begin
        their_explained = their is not None and their[3] not in UNEXPLAINED
        same = their is not None and our is not None and their[2] == our[2]
        seconds["unknown"] += length * (our is None or our[3] == "UNKNOWN")
        seconds["their_unknown"] += length * (not their_explained)
        seconds["same_thread"] += length * same
        seconds["they_know"] += length * their_explained
        if their_explained and same:
            seconds["same_where_they_know"] += length
        if their_explained and not same:
            last = differences[-1] if differences else None
            if last and last["to"] == begin - begin_ns and last["theirs"] == list(their[2:]) and our and last["ours"] == list(our[2:]):
                last["to"] = end - begin_ns
            else:
                row = {"from": begin - begin_ns, "to": end - begin_ns, "theirs": list(their[2:])}
                differences.append(row | {"ours": list(our[2:]) if our else None})
    window = end_ns - begin_ns
    report = {key: round(seconds[key] / window, 6) for key in ("unknown", "their_unknown", "same_thread", "they_know")}
    known = seconds["they_know"]
    report["same_where_they_know"] = round(seconds["same_where_they_know"] / known, 6) if known else None
    differences.sort(key=lambda row: row["from"] - row["to"])
    return report | {"differences": differences[:MOST_DIFFERENCES]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slowpath", metavar="BINARY")
    parser.add_argument("reference")
    parser.add_argument("tid", type=int)
    parser.add_argument("trace")
    options = parser.parse_args()
    theirs, begin_ns, end_ns = their_path(options.reference)
    (answer,) = Answers(options.slowpath, options.trace).ask("critical-path", [(options.tid, begin_ns, end_ns)])
    ours = [(row["begin_ns"], row["end_ns"], row["tid"], row["state"]) for row in answer["segments"]]
    print(json.dumps(compare(theirs, ours, begin_ns, end_ns), indent=1))


if __name__ == "__main__":
    main()
