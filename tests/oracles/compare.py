"""Compares what `slowpath ... --json` printed with what others say about the same trace.

    compare.py same ORACLE.json SLOWPATH.json        an oracle of this folder: equal
    compare.py PEER KIND REFERENCE SLOWPATH.json     an independent program's answer

PEER KIND: tracecompass count|cpu|io (tables as lines of text), lttng-analyses
cputop|iousagetop|irqstats|schedstats (its machine interface). Exit status 1 and one line per
difference where they disagree beyond the differences of definition that each comparison states.
"""

import json
import sys

ROUNDING_OF_SHARE = 1e-9


def same(oracle, slowpath, where=""):
    """Every key of the oracle's must be in slowpath's with the same value; slowpath may say more.

    Names of processes and threads are the latest that either saw and may differ where two
    processors name them at the same time; shares are floating point numbers.
    """
    if isinstance(oracle, dict):
        if not isinstance(slowpath, dict):
            yield f"{where}: {oracle} / {slowpath}"
            return
        if where.endswith(".by") and oracle.keys() != slowpath.keys():
            yield f"{where}: keys {sorted(oracle.keys() ^ slowpath.keys())} on one side only"
        for key, value in oracle.items():
            if key == "comm":
                continue
            if key not in slowpath:
                yield f"{where}.{key}: missing"
                continue
            if key == "files":
                yield from same_files(value, slowpath[key])
                continue
            yield from same(value, slowpath[key], f"{where}.{key}")
    elif isinstance(oracle, list):
        label = next((key for key in ("tid", "pid", "cpu", "path", "name") if oracle and key in oracle[0]), None)
        if not isinstance(slowpath, list) or label is None and oracle:
            yield f"{where}: {oracle} / {slowpath}"
            return
        mine = {row[label]: row for row in oracle}
        theirs = {row.get(label): row for row in slowpath}
        for missing in mine.keys() - theirs.keys():
            yield f"{where}: no row for {label} {missing}: {mine[missing]}"
        for extra in theirs.keys() - mine.keys():
            yield f"{where}: row for {label} {extra} is too much: {theirs[extra]}"
        for both in mine.keys() & theirs.keys():
            yield from same(mine[both], theirs[both], f"{where}[{label} {both}]")
        if list(mine) != list(theirs) and mine.keys() == theirs.keys():
            yield f"{where}: rows in another order"
    elif isinstance(oracle, float):
        if abs(oracle - slowpath) > 1e-6 * max(1.0, abs(oracle)):
            yield f"{where}: {oracle} / {slowpath}"
    elif oracle != slowpath:
        yield f"{where}: {oracle} / {slowpath}"


MOST_BYTES_OF_EMPTY_NAMES = 1e-4


def same_files(oracle, slowpath):
    """Files are equal but for those that were opened with an empty name (LTTng could not read the
    user's memory): babeltrace2 2.0.4 prints the name of the open before in its place, so the oracle
    gives their bytes to a file that slowpath rightly does not name."""
    mine = {row["path"]: row for row in oracle}
    theirs = {row["path"]: row for row in slowpath}
    for key in ("read_bytes", "write_bytes"):
        taken = given = 0
        for path in mine.keys() | theirs.keys():
            more = theirs.get(path, {}).get(key, 0) - mine.get(path, {}).get(key, 0)
            if path.startswith("unknown (") and more > 0:
                given += more
            elif not path.startswith("unknown (") and more < 0:
                taken -= more
            elif more:
                yield f"files: {path}: {key} {mine.get(path)} / {theirs.get(path)}"
        allowed = MOST_BYTES_OF_EMPTY_NAMES * sum(row[key] for row in oracle)
        if taken != given or taken > allowed:
            yield f"files: {key}: {taken} fewer in named files, {given} more in unknown ones"


def table(path):
    with open(path) as file:
        return [line.rstrip("\n").split("\t") for line in file if line.strip()]


def tracecompass_count(reference, slowpath):
    expected = {name: int(count) for count, name in table(reference)}
    yield from same({"by": expected, "events": sum(expected.values())}, slowpath, "count")


def tracecompass_cpu(reference, slowpath):
    """Trace Compass knows no thread before a processor's first switch; slowpath knows who ran there
    (`prev` of that switch). So slowpath may know more, by at most one thread per processor."""
    rows = table(reference)
    _, begin_ns, end_ns = rows[0]
    yield from same({"begin_ns": int(begin_ns), "end_ns": int(end_ns)}, slowpath, "cpu")
    processors, threads = {}, {}
    for where, busy in rows[1:]:
        processor, _, tid = where.partition("/")
        if processor == "total":
            continue
        if tid:
            if tid != "0":
                threads[int(tid)] = threads.get(int(tid), 0) + int(busy)
        else:
            processors[int(processor)] = int(busy)
    missing_ns = 0
    for row in slowpath["cpus"]:
        more = row["busy_ns"] - processors.get(row["cpu"], 0)
        missing_ns += more
        if more < 0:
            yield f"processor {row['cpu']}: Trace Compass {processors.get(row['cpu'])}, slowpath {row['busy_ns']}"
    said = {row["tid"]: row["busy_ns"] for row in slowpath["threads"]}
    differing = {tid for tid in said.keys() | threads.keys() if said.get(tid, 0) != threads.get(tid, 0)}
    more = sum(said.get(tid, 0) - threads.get(tid, 0) for tid in differing)
    if len(differing) > len(processors) or more != missing_ns:
        for tid in sorted(differing):
            yield f"thread {tid}: Trace Compass {threads.get(tid)}, slowpath {said.get(tid)}"


def tracecompass_io(reference, slowpath):
    """Trace Compass counts per thread, calls named p?read.* and p?write.* only: sockets and splice
    are missing, readlink is in. So a process has at least what its first thread has there, less
    what readlink returned, which is never much."""
    most_by_readlink = 4096
    processes = {row["pid"]: row for row in slowpath["processes"]}
    compared = 0
    for tid, read, written in table(reference):
        process = processes.get(int(tid))
        if process is None:
            continue
        for key, text, slack in (("read_bytes", read, most_by_readlink), ("write_bytes", written, 0)):
            expected = text.partition("=")[2]
            if expected == "null":
                continue
            compared += 1
            if process[key] < int(expected) - slack:
                yield f"process {tid}: {key} Trace Compass {expected}, slowpath {process[key]}"
    if compared < 20:
        yield f"only {compared} numbers could be compared"


def results(path):
    with open(path) as file:
        return json.load(file)["results"]


def cputop(reference, slowpath):
    """lttng-analyses calls a processor busy from the window's begin to its first switch even where
    that switch shows that it was idle: on many-threads exactly the time to it, below 0.2 ms."""
    window = slowpath["end_ns"] - slowpath["begin_ns"]
    threads = {row["tid"]: row["busy_ns"] for row in slowpath["threads"]}
    processors = {row["cpu"]: row["busy_ns"] for row in slowpath["cpus"]}
    per_process, per_processor = results(reference)[:2]
    for row in per_process["data"]:
        yield from close(f"thread {row[0]['tid']}", row[3]["value"], threads.get(row[0]["tid"], 0) / window)
    for row in per_processor["data"]:
        expected, found = row[1]["value"], processors.get(row[0]["id"], 0) / window
        if not -ROUNDING_OF_SHARE <= expected - found <= 200_000 / window:
            yield f"processor {row[0]['id']}: lttng-analyses {expected}, slowpath {found}"


def close(what, expected, found):
    if abs(expected - found) > ROUNDING_OF_SHARE:
        yield f"{what}: lttng-analyses {expected}, slowpath {found}"


def iousagetop(reference, slowpath):
    """By thread there, by process here: equal where the thread is its process's first and the only
    one that moved bytes, never less otherwise. splice is not counted there. Files: those that both
    know by path."""
    processes = {row["pid"]: row for row in slowpath["processes"]}
    files = {row["path"]: row for row in slowpath["files"]}
    equal = 0
    for result, key in zip(results(reference), ("read_bytes", "write_bytes") * 2):
        for row in result["data"]:
            who, size = row[0], row[1]["value"]
            if who["class"] == "process":
                found = processes.get(who.get("pid", who["tid"]), {}).get(key, 0)
                if who.get("pid", who["tid"]) in processes and found < size:
                    yield f"{key} of {who}: lttng-analyses {size}, slowpath {found}"
                equal += found == size
            elif who["path"].startswith("/"):
                found = files.get(who["path"], {}).get(key, 0)
                if found != size:
                    yield f"{key} of {who['path']}: lttng-analyses {size}, slowpath {found}"
    if equal < 10:
        yield f"only {equal} of the processes have the same number of bytes"


def irqstats(reference, slowpath):
    entries = {row["name"]: row for row in slowpath["entries"]}
    for row in results(reference)[0]["data"]:
        name = f"{row[0]['nr']} {row[0]['name']}"
        yield from statistics(name, row[1:5], entries.get(name))


def schedstats(reference, slowpath):
    entries = {int(row["name"].rpartition("-")[2]): row for row in slowpath["entries"]}
    data = results(reference)[0]["data"]
    for row in data:
        yield from statistics(f"thread {row[0]['tid']}", row[1:5], entries.get(row[0]["tid"]))
    if len(entries) != len(data):
        yield f"lttng-analyses has {len(data)} threads, slowpath {len(entries)}"


def statistics(name, expected, found):
    count, least, mean, most = (value["value"] for value in expected)
    wanted = {"count": count, "min_ns": least, "mean_ns": int(mean), "max_ns": most}
    if found is None or any(found[key] != value for key, value in wanted.items()):
        yield f"{name}: lttng-analyses {wanted}, slowpath {found}"


COMPARISONS = {
    ("tracecompass", "count"): tracecompass_count,
    ("tracecompass", "cpu"): tracecompass_cpu,
    ("tracecompass", "io"): tracecompass_io,
    ("lttng-analyses", "cputop"): cputop,
    ("lttng-analyses", "iousagetop"): iousagetop,
    ("lttng-analyses", "irqstats"): irqstats,
    ("lttng-analyses", "schedstats"): schedstats,
}
MOST_SHOWN = 30


def main():
    arguments = sys.argv[1:]
    if len(arguments) == 3 and arguments[0] == "same":
        with open(arguments[1]) as oracle, open(arguments[2]) as slowpath:
            differences = list(same(json.load(oracle), json.load(slowpath)))
    elif len(arguments) == 4 and tuple(arguments[:2]) in COMPARISONS:
        with open(arguments[3]) as slowpath:
            differences = list(COMPARISONS[tuple(arguments[:2])](arguments[2], json.load(slowpath)))
    else:
        raise SystemExit(__doc__)
    for difference in differences[:MOST_SHOWN]:
        print(difference)
    if len(differences) > MOST_SHOWN:
        print(f"... and {len(differences) - MOST_SHOWN} more")
    sys.exit(bool(differences))


if __name__ == "__main__":
    main()
