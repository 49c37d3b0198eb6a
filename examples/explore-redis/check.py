#!/usr/bin/env python3
"""Holds what `slowpath explore` found about Redis against what must be so on any machine.

Usage: check.py results.json FOLDER. Ends with status 1 when a claim does not hold. Not a benchmark.
"""

import json
import pathlib
import statistics
import sys


def main():
    results = json.load(open(sys.argv[1], encoding="utf-8"))
    folder = pathlib.Path(sys.argv[2])
    rows = results["configurations"]
    best = rows[0]["configuration"]
    always, never = (
        statistics.fmean(row["metrics"]["sets"]["mean"] for row in rows if row["configuration"]["appendfsync"] == word)
        for word in ("always", "no")
    )
    flushing = {
        word: statistics.fmean(row["metrics"]["flushing"]["mean"] for row in rows if row["configuration"]["appendfsync"] == word)
        for word in ("always", "no")
        if "flushing" in rows[0]["metrics"]
    }
    recommended = (folder / "recommended/scratch/redis.conf").read_text(encoding="utf-8")
    claims = [
        ("all 24 configurations were tried three times, none failed", len(rows) == 24 and results["trials"] == 72 and results["failed"] == 0),
        ("syncing before every answer is never best", best["appendfsync"] != "always"),
        ("writes are slower with it than without", always < never),
        ("the best is on the front", rows[0]["is_on_front"]),
        ("the recommended file has the best setting", f"appendfsync {best['appendfsync']}\n" in recommended),
    ]
    if flushing:
        claims.append(("and more time goes into flushing the append-only file", flushing["always"] > flushing["no"]))
    for claim, holds in claims:
        print(f"{'holds' if holds else 'WRONG'}: {claim}")
    sys.exit(not all(holds for _, holds in claims))


if __name__ == "__main__":
    main()
