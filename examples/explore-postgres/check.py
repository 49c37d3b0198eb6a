#!/usr/bin/env python3
"""Holds what `slowpath explore` found about PostgreSQL against what must be so on any machine.

Usage: check.py results.json. Ends with status 1 when a claim does not hold. Not a benchmark.
"""

import json
import statistics
import sys


def main():
    results = json.load(open(sys.argv[1], encoding="utf-8"))
    rows = results["configurations"]

    def mean(metric, parameter, value):
        return statistics.fmean(row["metrics"][metric]["mean"] for row in rows if row["configuration"][parameter] == value)

    claims = [
        ("all 16 configurations were tried three times, none failed", len(rows) == 16 and results["trials"] == 48 and results["failed"] == 0),
        (
            "waiting for the disk at each commit costs throughput",
            mean("throughput", "synchronous_commit", "on") < mean("throughput", "synchronous_commit", "off"),
        ),
        ("the best does not wait for it", rows[0]["configuration"]["synchronous_commit"] == "off"),
        ("every trial has the server's processor time", all(row["metrics"]["server_cpu"]["mean"] > 0 for row in rows)),
    ]
    for claim, holds in claims:
        print(f"{'holds' if holds else 'WRONG'}: {claim}")
    sys.exit(not all(holds for _, holds in claims))


if __name__ == "__main__":
    main()
