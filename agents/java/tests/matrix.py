"""How exact both backends are, under each collector of each Java runtime (JAVAS, a list of paths with `:` between, and the
`java` of the path): Corners runs until 10,000 samples are decided of fields that are always read, and as many of fields that
never are. No read may be reported that was none, and of those always read 99.5 % must be: of all, and of each that has 1,000
samples. By the mask there are 10,000 of each field, as it decides all of an object at once; by watchpoints, which decide
one, 10,000 of nine fields together. Prints a line for each, also of collectors that a runtime has not; an hour.
    matrix.py [SAMPLES]"""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import corners

LEAST = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
SECONDS = 900
# Options; ZGC is experimental in Java 11.
COLLECTORS = {"G1": ["-XX:+UseG1GC"], "Parallel": ["-XX:+UseParallelGC"], "Serial": ["-XX:+UseSerialGC"],
              "Z": ["-XX:+UnlockExperimentalVMOptions", "-XX:+UseZGC"],
              "Generational Z": ["-XX:+UseZGC", "-XX:+ZGenerational"], "Shenandoah": ["-XX:+UseShenandoahGC"]}


def runs(java, options):
    return subprocess.run([java, *options, "-version"], capture_output=True).returncode == 0


def check(java, options, backend):
    """What is said of one run: counts, or what was wrong."""
    with tempfile.TemporaryDirectory() as folder:
        # The mask decides all fields of an object at once.
        least = LEAST * len(corners.USED) if backend == "mask" else LEAST
        samples = corners.run(java, options, backend, Path(folder), least, SECONDS, fetch=["fetch"])
    samples.check(unittest.TestCase())
    used, printed, never = ((samples.sum(fields, kind), samples.sum(fields, "used", "printed", "unused"))
                            for fields, kind in ((corners.USED, "used"), (corners.PRINTED, "printed"),
                                                 (corners.NEVER, "used")))
    item = samples.rows["Item"]
    return (f"always read: {used[0]} of {used[1]}; printed: {printed[0]} of {printed[1]}; never read: {never[0]} of "
            f"{never[1]}; of {item['watched']} objects {item['censored']} censored, {item['lost']} lost")


def main():
    are_right = True
    backends = ["mask", "watchpoints"] if corners.has_registers() else ["mask"]
    if "watchpoints" not in backends:
        print("SKIPPED: watchpoints, as debug registers cannot be had here")
    for java in corners.javas():
        version = subprocess.run([java, "-version"], capture_output=True, text=True).stderr.split('"')[1]
        for collector, options in COLLECTORS.items():
            if not runs(java, options):
                print(f"SKIPPED: {version} {collector}, which this runtime does not have", flush=True)
                continue
            for backend in backends:
                try:
                    said = check(java, options, backend)
                except AssertionError as wrong:
                    are_right = False
                    said = f"WRONG: {wrong}"
                print(f"{version} {collector} {backend}: {said}", flush=True)
    sys.exit(0 if are_right else 1)


if __name__ == "__main__":
    main()
