"""Runs a program under the agent while a real LTTng session records; the checks that each recording must pass.

Without an LTTng daemon of the tests' own (../../own-lttng.sh) those tests are skipped, and say so.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request
from collections import Counter, defaultdict, namedtuple
from pathlib import Path

HERE = Path(__file__).resolve().parent
SITE = HERE.parent / "build" / "site"
Event = namedtuple("Event", "at name tid trace span")

needs_lttng = unittest.skipUnless(
    os.environ.get("OWN_LTTNG"), "no LTTng session daemon of our own here (run: make test)"
)


def lttng(*arguments):
    subprocess.run(["lttng", "--no-sessiond", "--quiet", *arguments], check=True, capture_output=True)


@contextlib.contextmanager
def recorded(read=True):
    """Records span events within the block; yields the list that has them after it, in time order."""
    events = []
    with tempfile.TemporaryDirectory(prefix="spans-python-") as folder:
        session = Path(folder).name
        lttng("create", session, "--output", folder)
        try:
            lttng("enable-event", "--userspace", "--session", session, "slowpath_span:*")
            lttng("add-context", "--userspace", "--session", session, "-t", "vpid", "-t", "vtid", "-t", "procname")
            lttng("start", session)
            yield events
            lttng("stop", session)
            if read:
                events += read_events(folder)
        finally:
            lttng("destroy", session)


def read_events(folder):
    text = subprocess.run(["babeltrace2", "--clock-cycles", folder], check=True, capture_output=True, text=True)
    assert "discarded" not in text.stderr, text.stderr
    line = re.compile(
        r"\[(\d+)\].* slowpath_span:(\w+): .*vtid = (\d+).*trace_id_high = 0x(\w+), trace_id_low = 0x(\w+),"
        r" span_id = 0x(\w+)"
    )
    found = map(line.match, text.stdout.splitlines())
    return [
        Event(int(m[1]), m[2], int(m[3]), f"{int(m[4], 16):016x}{int(m[5], 16):016x}", f"{int(m[6], 16):016x}")
        for m in found
    ]


class Program:
    """A program of this folder under the agent, as a user would start it. `finish` reads what it noted as true."""

    def __init__(self, file, instrument=False, path=(SITE,), **environment):
        self.folder = tempfile.TemporaryDirectory()
        self.truth_file = Path(self.folder.name) / "truth"
        self.port_file = Path(self.folder.name) / "port"
        python = [sys.executable, str(HERE / file)]
        launcher = [str(Path(sys.executable).parent / "opentelemetry-instrument")] if instrument else []
        files = [Path(self.folder.name) / name for name in ("stdout", "stderr")]
        with files[0].open("w") as stdout, files[1].open("w") as stderr:
            self.process = subprocess.Popen(
                launcher + python,
                cwd=self.folder.name,  # the sources beside this folder must not hide what was built
                stdin=subprocess.PIPE,
                stdout=stdout,
                stderr=stderr,
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join(map(str, path)),
                    "TRUTH": str(self.truth_file),
                    "PORT": str(self.port_file),
                    **environment,
                },
            )

    def load(self, count=40, together=5):
        """Sends requests to the service, several at a time."""
        deadline = time.monotonic() + 30
        while not (self.port_file.exists() and self.port_file.read_text().endswith("\n")):
            assert self.process.poll() is None and time.monotonic() < deadline, self._read("stderr")
            time.sleep(0.05)
        url = f"http://127.0.0.1:{self.port_file.read_text().strip()}/"
        answers = []

        def client():
            for _ in range(count // together):
                with urllib.request.urlopen(url, timeout=30) as answer:
                    answers.append(answer.read())

        clients = [threading.Thread(target=client) for _ in range(together)]
        for thread in clients:
            thread.start()
        for thread in clients:
            thread.join()
        assert answers == [b"done"] * count, answers

    def finish(self):
        """Ends it; returns (work, spans) as it noted them, and keeps what it printed."""
        self.process.communicate(timeout=60)
        self.stdout, self.stderr = self._read("stdout"), self._read("stderr")
        assert self.process.returncode == 0, self.stderr
        notes = [json.loads(line) for line in self.truth_file.read_text().splitlines()]
        self.folder.cleanup()
        work = sorted((piece for note in notes for piece in note["work"]), key=lambda piece: piece[3])
        return work, [span for note in notes for span in note["spans"] or []]

    def _read(self, name):
        return (Path(self.folder.name) / name).read_text()


class Checks(unittest.TestCase):
    def assert_starts_and_ends(self, events, spans):
        expected = Counter(tuple(span) for span in spans)
        for name in ("start_span", "end_span"):
            self.assertEqual(Counter((e.trace, e.span) for e in events if e.name == name), expected)

    def assert_properly_nested(self, events):
        stacks = defaultdict(list)
        for event in events:
            stack = stacks[event.tid]
            if event.name == "attach":
                self.assertTrue(not stack or stack[0].trace == event.trace, f"two traces at once: {event}")
                stack.append(event)
            elif event.name == "detach":
                self.assertTrue(stack and stack.pop().span == event.span, f"not the innermost: {event}")
        self.assertEqual([stack for stack in stacks.values() if stack], [], "attached and never detached")

    def assert_work_is_followed(self, events, work):
        """During each piece of work its thread was attached to its span, and did not move."""
        for thread in {piece[0] for piece in work}:
            moves = [e for e in events if e.tid == thread and e.name in ("attach", "detach")]
            stack, position = [], 0
            for _, trace, span, begin, end in (piece for piece in work if piece[0] == thread):
                while position < len(moves) and moves[position].at <= begin:
                    stack.append(moves[position]) if moves[position].name == "attach" else stack.pop()
                    position += 1
                self.assertTrue(stack, f"attached to nothing at {begin}, thread {thread}")
                self.assertEqual((stack[-1].trace, stack[-1].span), (trace, span), f"at {begin}, thread {thread}")
                self.assertTrue(position == len(moves) or moves[position].at >= end, f"moved after {begin}")
