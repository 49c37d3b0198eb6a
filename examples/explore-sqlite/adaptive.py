#!/usr/bin/env python3
"""Holds an adaptive policy against the grid: does it find a configuration that is nearly the best in a fraction of the runs?

Usage: adaptive.py SLOWPATH SPECIFICATION GRID.csv FOLDER (GRID.csv: what `slowpath explore --results csv` gives of the grid).

Ten explorations of the same parameters by Optuna's TPE, with ten seeds, each with a quarter of the grid's trials at most. What
the trials of a configuration give is what its trials in the grid gave, one after the other: the noise is that of real runs,
and the answer does not take an hour. Ends with status 1 where one of the ten is more than 3 % below the grid's best mean.
"""

import csv
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tomllib

SEEDS = range(1, 11)
WITHIN = 0.03
# As in the grid: a single lucky trial would be taken for the best.
REPEATED = 2
REPLAY = "replay"


def replay(table, key, seen):
    """Stands for the workload; `seen` is a folder that remembers how often each configuration ran."""
    measured = json.loads(pathlib.Path(table).read_text(encoding="utf-8"))[key]
    ran = pathlib.Path(seen) / key
    before = len(ran.read_text(encoding="utf-8")) if ran.exists() else 0
    ran.write_text("x" * (before + 1), encoding="utf-8")
    print(json.dumps({"throughput": measured[before % len(measured)]}))


def specification(parameters, table, configurations, seed, seen):
    quoted = json.dumps
    words = [sys.executable, __file__, REPLAY, str(table), " ".join(f"{{{{{name}}}}}" for name in parameters), str(seen)]
    text = f'name = "seed-{seed}"\n'
    for name, parameter in parameters.items():
        text += f"\n[parameters.{name}]\n" + "".join(f"{key} = {quoted(value)}\n" for key, value in parameter.items())
    text += f"""
[workload]
command = {quoted(words)}

[metrics.throughput]
json = "/throughput"

[[objectives]]
maximise = "throughput"

[trials]
per_configuration = {REPEATED}
seed = {seed}

[policy]
name = "optuna"
configurations = {configurations}
interpreter = {quoted(sys.executable)}
"""
    return text


def main(slowpath, original, grid, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    parameters = tomllib.loads(pathlib.Path(original).read_text(encoding="utf-8"))["parameters"]
    measured = {}
    for row in csv.DictReader(open(grid, encoding="utf-8")):
        if row["outcome"] == "good":
            measured.setdefault(" ".join(row[name] for name in parameters), []).append(float(row["throughput"]))
    trials = sum(len(each) for each in measured.values())
    table = folder / "grid.json"
    table.write_text(json.dumps(measured), encoding="utf-8")
    mean = {key: statistics.fmean(each) for key, each in measured.items()}
    best = max(mean, key=mean.get)
    print(f"grid: {trials} trials of {len(mean)} configurations; best {best}: {mean[best]:.1f}")
    missed = 0
    for seed in SEEDS:
        spec = folder / f"seed-{seed}.toml"
        seen = folder.resolve() / f"seen-{seed}"
        shutil.rmtree(seen, ignore_errors=True)
        seen.mkdir()
        text = specification(parameters, table.resolve(), trials // 4 // REPEATED, seed, seen)
        spec.write_text(text, encoding="utf-8")
        ran = subprocess.run(
            [slowpath, "explore", spec, "-o", folder / f"seed-{seed}", "--overwrite", "--no-reasons", "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if ran.returncode != 0:
            sys.exit(ran.stderr)
        found = json.loads(ran.stdout)
        chosen = " ".join(str(found["configurations"][0]["configuration"][name]) for name in parameters)
        below = 1 - mean[chosen] / mean[best]
        missed += below > WITHIN
        print(f"seed {seed}: {found['trials']} trials ({found['trials'] / trials:.0%} of the grid's), {chosen}: {below:.1%} below the best")
    print(f"{'holds' if missed == 0 else 'WRONG'}: within {WITHIN:.0%} of the best in a quarter of the runs, for {len(SEEDS)} seeds")
    sys.exit(missed > 0)


if __name__ == "__main__":
    if sys.argv[1] == REPLAY:
        replay(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
