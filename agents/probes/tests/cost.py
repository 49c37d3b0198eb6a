"""What a probe costs a program in Python, on and off, with a loop around it that is subtracted. Run by tests/bench.sh."""

import os
import subprocess
import sys
import timeit

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../python"))
import slowpath_probes as probes  # noqa: E402

query, depths = probes.Probe(probes.LAT, 1), probes.Probe(probes.SNAPSHOT, 2)


def pair():
    query.end(query.begin())


def block():
    with query.measured():
        pass


def snapshot():
    depths.snapshot(1, 2)


def nothing():
    pass


def nanoseconds(function):
    return min(timeit.repeat(function, number=20_000, repeat=20)) / 20_000 * 1e9


for switch in ("off", "on"):
    subprocess.run(["build/slowpath-probes", switch, str(os.getpid()), "all"], check=True)
    loop = nanoseconds(nothing)
    print(f"Python, {switch}: " + ", ".join(f"{name} {nanoseconds(function) - loop:.0f} ns" for name, function in (
        ("begin and end", pair), ("with measured()", block), ("snapshot", snapshot))))
