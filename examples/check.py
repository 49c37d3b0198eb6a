"""For the examples' checks: reads what slowpath answered, prints each claim, fails when one does not hold.

Each example's check.py says what its claims are. Not a test of slowpath's tables: only their JSON is read.
"""

import json
import pathlib
import sys


def answers(folder, service=None):
    """Findings and requests, as run.sh left them in the folder. With a service's name, only requests of its
    processes, named or not: others on the machine may be traced as well."""
    folder = pathlib.Path(folder)
    findings = json.loads((folder / "diagnose.json").read_text())["findings"]
    requests = json.loads((folder / "requests.json").read_text())["requests"]
    processes = {one["pid"] for one in requests if one["service"] == service}
    return findings, [one for one in requests if service is None or one["pid"] in processes]


def truth(folder):
    """What the service wrote down: a tuple of numbers for each line."""
    lines = (pathlib.Path(folder) / "truth").read_text().splitlines()
    return [tuple(map(int, line.split())) for line in lines]


def told(claims):
    """Prints pairs of a claim and whether it holds, and ends with status 1 when one does not."""
    failures = 0
    for claim, holds in claims:
        print(("ok      " if holds else "FAILED  ") + claim)
        failures += not holds
    sys.exit(1 if failures else 0)
