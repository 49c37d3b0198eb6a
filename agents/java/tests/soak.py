"""What the agent does to a server that is redeployed all the time (src/test/java/soak): a program without it and with it by
each backend, and one to which it is attached while it runs, side by side. Ends with a table, and with status 1 where a
process has ended badly, something that was thrown away is still there, the report is not what the program did, or
something grows: where what was measured rises in the second half of the time by more than MOST says and than it does
without the agent, which is the program's own. Where that alone is more than MOST, nothing can be told, and that is a failure,
too. Memory is measured with MALLOC_ARENA_MAX=2 and a threshold of mmap of 16 KiB: what is not given back otherwise, because
memory is fragmented, is not looked at.
    soak.py [MINUTES]"""
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from pathlib import Path

import corners
from corners import AGENT, CLASSES

MINUTES = 30
# Until the agent is attached.
ATTACHED_AFTER_SECONDS = 3
# By how much each may rise; bytes, files, threads. Caches fill up to their limits, and figures vary. Of some thousand
# deployments, this is a kilobyte or two each: less than one class.
MOST = {"heap": 2 << 20, "rss": 8 << 20, "files": 8, "threads": 8, "metaspace": 1 << 20}
# Fields of soak.deployed that are always read; those that begin with `never` are not, the others printed.
USED = {"number", "customer", "inLambda", "afterException", "name", "value"}
OPTIONS = ("report-every=1,samples=1000000,arms-per-second=1000000,aiming-share=0.5,"
           "remote=soak.deployed.Client#order,soak.deployed.Client#generated")


class Soaked:
    """A program that runs, and what was measured of it, each second."""

    def __init__(self, folder, name, backend=None, is_attached=False):
        self.name = name
        self.folder = Path(folder) / name.replace(" ", "-")
        self.folder.mkdir()
        self.is_attached = is_attached
        self.report = self.folder / "report.jsonl" if backend else None
        self.options = f"report={self.report},backend={backend},{OPTIONS}"
        self.pack("server.jar", [*CLASSES.glob("soak/*.class"), *CLASSES.glob("jakarta/**/*.class")])
        self.pack("application.jar", CLASSES.glob("soak/deployed/*.class"))
        self.measured = []
        self.began = 0
        self.end = None
        self.faults = []
        self.samples = {}
        self.said = open(self.folder / "said", "w+")
        agent = [f"-javaagent:{AGENT}={self.options}"] if backend and not is_attached else []
        # A heap that is there from the start, so that what the process grows by is not the heap. And what the JVM's
        # compilers take for a while, 32 KiB at a time, goes back to the kernel when they are done.
        self.process = subprocess.Popen(
            ["java", "-Xms96m", "-Xmx96m", "-XX:+AlwaysPreTouch", "-XX:ErrorFile=crash.log", *agent, "-cp", "server.jar",
             "soak.Soak", self.folder / "application.jar"], cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self.said, text=True, env={**os.environ, "MALLOC_ARENA_MAX": "2", "MALLOC_MMAP_THRESHOLD_": str(16 << 10)})
        self.follower = threading.Thread(target=self.follow)
        self.follower.start()

    def pack(self, jar, files):
        with zipfile.ZipFile(self.folder / jar, "w") as packed:
            for file in files:
                packed.write(file, file.relative_to(CLASSES))

    def follow(self):
        for line in self.process.stdout:
            now = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", line)}
            if line.startswith("end "):
                self.end = now
                continue
            try:
                status = Path(f"/proc/{self.process.pid}/status").read_text()
                now["rss"] = 1024 * int(re.search(r"VmRSS:\s+(\d+)", status).group(1))
                now["files"] = len(os.listdir(f"/proc/{self.process.pid}/fd"))
                self.measured.append((time.monotonic(), now))
            except (OSError, AttributeError):
                pass  # It has just ended.

    def attach(self):
        status, said = corners.attach(self.process.pid, self.options)
        if status:
            raise SystemExit(f"{self.name}: {said}")
        self.began = self.deployed()

    def deployed(self):
        """How many applications, since the agent is there."""
        return self.measured[-1][1]["deployed"] - self.began if self.measured else 0

    def finish(self):
        self.process.stdin.close()
        self.process.wait(60)
        self.follower.join()

    def text(self):
        self.said.seek(0)
        return self.said.read()

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.follower.join()
        self.process.stdin.close()
        self.process.stdout.close()
        self.said.close()

    def rise(self, measure):
        """In the second half of the time, by the medians of its first and its last third, which are two thirds of it apart:
        what lasts a while only, as compilers' memory, has no part in them. None where it has ended before."""
        if not self.measured:
            return None
        half = [now[measure] for _, now in self.measured[len(self.measured) // 2:]]
        third = (len(half) + 2) // 3
        return 1.5 * (statistics.median(half[-third:]) - statistics.median(half[:third]))

    def has_samples(self):
        return self.report.exists() and any(row["decided"] for context in corners.read_report(self.report)[1]
                                            for row in context["classes"])

    def wrong(self):
        """What is wrong but for growth: sentences."""
        if self.process.returncode or self.end is None or (self.folder / "crash.log").exists():
            return [f"it has ended with {self.process.returncode}: {self.text()[-2000:]}"]
        wrong = []
        if self.end["collected"] < self.end["deployed"]:
            wrong.append(f"of {self.end['deployed']} class loaders {self.end['collected']} were collected")
        if "slowpath:" in self.text():
            wrong.append(self.text())
        return wrong + (self.wrong_in_report() if self.report else [])

    def wrong_in_report(self):
        head, contexts = corners.read_report(self.report)
        wrong = [f"{key} is {head[key]}" for key in ("failures", "classes_not_rewritten", "responses_without_context")
                 if head[key]]
        responses = sum(context["responses"] for context in contexts)
        if responses > self.end["received"] or (responses < self.end["received"] and not self.is_attached):
            wrong.append(f"{responses} responses are reported of {self.end['received']}")
        fields = [field for context in contexts for row in context["classes"] for field in row["fields"]]
        for kind, is_of, least in (("used", USED.__contains__, 0.995), ("printed", "printed".__eq__, 0.995),
                                   ("unused", lambda name: name.startswith("never"), 1)):
            decided = sum(field[each] for field in fields if is_of(field["name"]) for each in ("used", "printed", "unused"))
            right = sum(field[kind] for field in fields if is_of(field["name"]))
            self.samples[kind] = decided
            if decided == 0 or right < least * decided:
                wrong.append(f"{kind}: {right} of {decided} samples")
        return wrong


def run(folder, modes, is_enough):
    """All of them at a time, each until that is said of it or it ends by itself."""
    running = [Soaked(folder, mode, **how) for mode, how in modes.items()]
    try:
        time.sleep(ATTACHED_AFTER_SECONDS)
        for one in running:
            if one.is_attached:
                one.attach()
        for one in running:
            while one.process.poll() is None and not is_enough(one):
                time.sleep(0.2)
            one.finish()
            one.faults = one.wrong()
    finally:
        for one in running:
            one.stop()
    return running


def modes_here():
    modes = {"no agent": {}, "mask": {"backend": "mask"}}
    if corners.has_registers():
        modes["watchpoints"] = {"backend": "watchpoints"}
        modes["attached"] = {"backend": "auto", "is_attached": True}
    else:
        print("SKIPPED: watchpoints, as debug registers cannot be had here")
    return modes


def table(running):
    """Prints what was measured at the begin of the second half, and by how much it rises; finds what rises too much."""
    plain = running[0]
    print(f"{'':12} {'deployed':>9} {'responses':>9} {'samples':>8}" + "".join(
        f" {name + ', rise':>22}" for name in ("heap MiB", "RSS MiB", "files", "threads", "metaspace MiB")))
    for one in running:
        line = (f"{one.name:12} {one.end['deployed'] if one.end else '?':>9} "
                f"{one.end['received'] if one.end else '?':>9} {sum(one.samples.values()):>8}")
        for measure, most in MOST.items():
            scale = 1 << 20 if measure in ("heap", "rss", "metaspace") else 1
            rise, own = one.rise(measure), plain.rise(measure)
            if rise is None:
                line += f" {'?':>22}"
                continue
            half = [now[measure] for _, now in one.measured[len(one.measured) // 2:]]
            line += f" {half[0] / scale:9.1f} {rise / scale:+7.2f}     "
            if one is plain and rise > most:
                one.faults.append(f"{measure} rises by {rise / scale:.2f}: of the others nothing can be told")
            elif one is not plain and rise - max(own or 0, 0) > most:
                one.faults.append(f"{measure} rises by {rise / scale:.2f}, without the agent by {(own or 0) / scale:.2f}")
        print(line.rstrip())


def main():
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else MINUTES
    folder = tempfile.mkdtemp()
    try:
        end = time.monotonic() + 60 * minutes
        running = run(folder, modes_here(), lambda one: time.monotonic() > end)
        table(running)
        for one in running:
            for fault in one.faults:
                print(f"WRONG: {one.name}: {fault}")
        sys.exit(1 if any(one.faults for one in running) else 0)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
