#!/usr/bin/env python3
"""Holds what `slowpath explore` found about Redis against what must be so on any machine.

Usage: check.py results.json FOLDER. Says what noise leaves open; ends with status 1 when a claim is wrong. Not a benchmark.
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from explore_claims import group, is_best, is_less, tell


def main():
    results = json.load(open(sys.argv[1], encoding="utf-8"))
    folder = pathlib.Path(sys.argv[2])
    rows = results["configurations"]
    best = rows[0]["configuration"]

    def syncing(metric, word):
        return group(results, metric, lambda one: one["appendfsync"] == word)

    recommended = (folder / "recommended/scratch/redis.conf").read_text(encoding="utf-8")
    claims = [
        ("all 24 configurations were tried three times, none failed", len(rows) == 24 and results["trials"] == 72 and results["failed"] == 0),
        ("syncing before every answer is never best", is_best(results, lambda one: one["appendfsync"] != "always")),
        ("writes are slower with it than without", is_less(syncing("sets", "always"), syncing("sets", "no"))),
        ("the best is on the front", rows[0]["is_on_front"]),
        ("the recommended file has the best setting", f"appendfsync {best['appendfsync']}\n" in recommended),
    ]
    if "flushing" in rows[0]["metrics"]:
        more = is_less(syncing("flushing", "no"), syncing("flushing", "always"))
        claims.append(("and more time goes into flushing the append-only file", more))
    tell(claims)


if __name__ == "__main__":
    main()
