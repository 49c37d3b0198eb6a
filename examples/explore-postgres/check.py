#!/usr/bin/env python3
"""Holds what `slowpath explore` found about PostgreSQL against what must be so on any machine.

Usage: check.py results.json. Says what noise leaves open; ends with status 1 when a claim is wrong. Not a benchmark.
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from explore_claims import group, is_best, is_less, tell


def main():
    results = json.load(open(sys.argv[1], encoding="utf-8"))
    rows = results["configurations"]

    def committing(word):
        return group(results, "throughput", lambda one: one["synchronous_commit"] == word)

    claims = [
        ("all 16 configurations were tried three times, none failed", len(rows) == 16 and results["trials"] == 48 and results["failed"] == 0),
        (
            "waiting for the disk at each commit costs throughput",
            is_less(committing("on"), committing("off")),
        ),
        ("the best does not wait for it", is_best(results, lambda one: one["synchronous_commit"] == "off")),
        ("every trial has the server's processor time", all(row["metrics"]["server_cpu"]["mean"] > 0 for row in rows)),
    ]
    tell(claims)


if __name__ == "__main__":
    main()
