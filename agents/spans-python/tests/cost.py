"""Measures what the agent costs an application: processor time for each request without the agent, with it and no
recording, and recorded; interleaved, median and spread of seven. Not a test: it asserts nothing."""

import os
import subprocess
import sys

from support import HERE, SITE, recorded

ROUNDS = 7


def run(scene, path):
    done = subprocess.run(
        [sys.executable, str(HERE / "cost_scene.py"), scene],
        env={**os.environ, "PYTHONPATH": path},
        check=True,
        capture_output=True,
    )
    return float(done.stdout) / 1000


def run_recorded(scene):
    with recorded(read=False):
        return run(scene, str(SITE))


ways = {"without agent": lambda scene: run(scene, ""), "not recorded": lambda scene: run(scene, str(SITE))}
if os.environ.get("OWN_LTTNG"):
    ways["recorded"] = run_recorded

for scene in ("threads", "asyncio"):
    costs = {way: [] for way in ways}
    for _ in range(ROUNDS):
        for way in ways:
            costs[way].append(ways[way](scene))
    for way in ways:
        ordered = sorted(costs[way])
        print(f"{scene}: {way}: {ordered[3]:.1f} µs a request ({ordered[1]:.1f}–{ordered[5]:.1f})")
