#!/usr/bin/env python3
"""Holds what `slowpath explore` found about Redis against what must be so on any machine.

Usage: check.py results.json FOLDER. Ends with status 1 when a claim does not hold. Not a benchmark.
"""

import json
import pathlib
import sys


def main():
    results = json.load(open(sys.argv[1], encoding="utf-8"))
    folder = pathlib.Path(sys.argv[2])
    rows = results["configurations"]
    claims = [
        ("all 24 configurations were tried twice, none failed", len(rows) == 24 and results["trials"] == 48 and results["failed"] == 0),
        ("syncing before every answer is never best", rows[0]["configuration"]["appendfsync"] != "always"),
        ("what writes depend on most is appendfsync", results["importance"]["parameters"][0][0] == "appendfsync"),
        ("the best is on the front", rows[0]["is_on_front"]),
        ("the recommended file has the best setting", f"appendfsync {rows[0]['configuration']['appendfsync']}\n" in (folder / "recommended/redis.conf").read_text()),
    ]
    for claim, holds in claims:
        print(f"{'holds' if holds else 'WRONG'}: {claim}")
    sys.exit(not all(holds for _, holds in claims))


if __name__ == "__main__":
    main()
