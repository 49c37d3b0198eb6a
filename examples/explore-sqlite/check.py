#!/usr/bin/env python3
"""Holds what `slowpath explore` found about SQLite against what must be so on any machine.

Usage: check.py results.json. Says what noise leaves open; ends with status 1 when a claim is wrong. Prints the heat maps of Figure 3 as text. Not a
benchmark.
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from explore_claims import group, is_less, tell


def heat_map(rows, page_size):
    """Throughput by threads (down) and cache memory (across), as shares of the best of all."""
    best = max(row["metrics"]["throughput"]["mean"] for row in rows)
    caches = sorted({row["configuration"]["cache_mib"] for row in rows})
    of = {
        (row["configuration"]["threads"], row["configuration"]["cache_mib"]): row["metrics"]["throughput"]["mean"] / best
        for row in rows
        if row["configuration"]["page_size"] == page_size
    }
    print(f"\npages of {page_size} bytes; across: cache in MiB; down: threads; in % of the best throughput")
    print("   " + "".join(f"{cache:6}" for cache in caches))
    for threads in range(1, 9):
        print(f"{threads:3}" + "".join(f"{of[threads, cache] * 100:6.0f}" for cache in caches))


def main():
    results = json.load(open(sys.argv[1], encoding="utf-8"))
    rows = results["configurations"]
    pages = sorted({row["configuration"]["page_size"] for row in rows})
    for page_size in pages:
        heat_map(rows, page_size)
    print()
    one, eight = (group(results, "throughput", lambda of, threads=threads: of["threads"] == threads) for threads in (1, 8))
    reasons = " ".join(results["reasons"])
    claims = [
        ("every configuration was tried, none failed", len(rows) % 24 == 0 and results["failed"] == 0),
        # One cache has one lock: eight threads cannot do the work of eight.
        ("eight threads on one shared cache bring less than twice what one does", is_less(eight, one, 2.0)),
    ]
    if "is recorded in" in reasons:
        claims.append(("the reasons tell of threads that wait for each other", True if "in futex for `query`" in reasons else None))
    tell(claims)


if __name__ == "__main__":
    main()
