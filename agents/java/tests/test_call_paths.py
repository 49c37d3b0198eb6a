"""Paths (src/test/java/paths) receives objects over call paths that are easily mistaken for each other: the report has
each of them as often as it was gone, whoever walks the stack. Further Java runtimes to test: JAVAS, as in
test_transfers.py; since 21, virtual threads go the same paths."""
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
AGENT = HERE.parent / "target/slowpath-transfers.jar"
CLASSES = HERE.parent / "target/test-classes"
SOURCE = HERE.parent / "src/test/java/paths/Paths.java"
# How often each thread goes a path, and the methods that tell it: those that called `fetch`, the outermost first.
# Reflection and handles call it in several ways of their own, which are one path.
PATHS = [(3, "twoCallsOfALine"), (3, "twoCallsOfALine"), (7, "twoLines"), (7, "twoLines"), (13, "deep deep"),
         (17, "deep deep deep"), (19, "deep " * 31), (23, "times lambda$"), (29, "times lambda$"),
         (41, "times o"), (41, "times o"), (60, "times lambda$"), (68, "lambda$ deep deep deep deep")]


class EachPath(unittest.TestCase):
    def run_paths(self, java, walker):
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.jsonl"
            ran = subprocess.run(
                [java, f"-javaagent:{AGENT}=report={report},remote=paths.Paths#fetch,call-paths={walker},"
                 "paths-per-second=1000000000",
                 "-cp", CLASSES, "paths.Paths"], check=True, capture_output=True, text=True, timeout=60)
            self.assertNotIn("slowpath:", ran.stderr)
            head, *contexts = [json.loads(line) for line in report.read_text().splitlines()]
            self.assertEqual(head["call_paths"], walker)
            return int(ran.stdout.split()[1]), contexts

    def test_each_walker(self):
        for java in ["java", *filter(None, os.environ.get("JAVAS", "").split(":"))]:
            paths = {}
            for walker in ("native", "java"):
                with self.subTest(java=java, walker=walker):
                    threads, contexts = self.run_paths(java, walker)
                    self.check(threads, contexts)
                    paths[walker] = sorted(str(context["call_path"]) for context in contexts)
            self.assertEqual(paths["native"], paths["java"])

    def check(self, threads, contexts):
        self.assertEqual(sorted(context["responses"] for context in contexts),
                         [threads * times for times, _ in PATHS])
        for context, (times, methods) in zip(sorted(contexts, key=lambda context: context["responses"]), PATHS):
            names = [frame["method"] for frame in context["call_path"]]
            self.assertEqual(names.pop(), "fetch")
            expected = methods.split()
            for name, method in zip(names[-len(expected):], expected, strict=True):
                self.assertTrue(name.startswith(method), f"{names} for {methods}")
        lines = {frame["line"] for context in contexts for frame in context["call_path"]
                 if frame["method"] == "twoLines"}
        source = SOURCE.read_text().splitlines()
        self.assertEqual([source[line - 1].strip() for line in sorted(lines)], ["fetch();", "return fetch();"])

    def test_some_stand_for_many(self):
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.jsonl"
            ran = subprocess.run(["java", f"-javaagent:{AGENT}=report={report},remote=paths.Many#fetch", "-cp", CLASSES,
                                  "paths.Many", "4"], check=True, capture_output=True, text=True, timeout=60)
            contexts = [json.loads(line) for line in report.read_text().splitlines()[1:]]
        truth = dict(zip(("seldom", "often"), (int(word) for word in ran.stdout.split())))
        self.assertEqual(len(contexts), len(truth))
        for context in contexts:
            received = truth[context["call_path"][-2]["method"]]
            self.assertGreater(context["standard_error"], 0)
            self.assertAlmostEqual(context["responses"], received, delta=5 * context["standard_error"])
            # A second that begins with each for itself, then some 200 a second at least.
            self.assertLess(context["standard_error"], received / 4)


if __name__ == "__main__":
    unittest.main()
