"""Probes in a real Python program, switched and read by the command, as users do. Run by tests/test.sh, in build/."""

import json
import os
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../python"))
import slowpath_probes as probes  # noqa: E402

COMMAND = os.path.join(os.path.dirname(__file__), "../build/slowpath-probes")


def run(*arguments):
    done = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=True)
    return done.stdout


def waiting():
    return json.loads(run("count", str(os.getpid()), "--json"))["waiting"]


def read():
    """All records that wait, by the command. It would wait for more."""
    count = waiting()
    if count == 0:
        return []
    return [json.loads(line) for line in run("read", str(os.getpid()), "--json", "--count", str(count)).splitlines()]


class Probes(unittest.TestCase):
    def switch(self, what):
        run("off", str(os.getpid()), "all")
        read()
        run("on", str(os.getpid()), what)

    def test_off_and_on(self):
        query = probes.Probe(probes.LAT, 7, name="query")
        run("off", str(os.getpid()), "all")
        with query.measured():
            self.assertFalse(query.is_on())
        self.assertEqual(read(), [])
        self.switch("LAT:7")
        before = time.monotonic_ns()
        with query.measured():
            time.sleep(0.002)
        after = time.monotonic_ns()
        [record] = read()
        self.assertEqual((record["type"], record["probe"], record["name"]), ("LAT", 7, "query"))
        self.assertEqual((record["process"], record["thread"]), (os.getpid(), threading.get_native_id()))
        self.assertGreaterEqual(record["values"]["duration_ns"], 2_000_000 - 1000)
        self.assertTrue(before - 1000 <= record["timestamp_ns"] <= after + 1000)

    def test_sub_sampling_counts_executions(self):
        count = probes.Probe(probes.CNT, 8, sub_sampling=5)
        self.switch("CNT")
        for _ in range(12):
            count.end(count.begin())
        self.assertEqual([record["values"]["executions"] for record in read()], [5, 5])

    def test_snapshot(self):
        depths = probes.Probe(probes.SNAPSHOT, 9)
        self.switch("SNAPSHOT")
        depths.snapshot(1, -1, 2**63)
        self.assertEqual(read()[0]["values"], [1, 2**64 - 1, 2**63])

    def test_nested_in_threads_and_left_by_an_exception(self):
        outer, inner = probes.Probe(probes.LAT, 10), probes.Probe(probes.CTXSW, 11)

        def work():
            for _ in range(100):
                try:
                    with outer.measured(), inner.measured():
                        raise KeyError
                except KeyError:
                    pass

        self.switch("LAT:10,CTXSW:11")
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        records = read()
        self.assertEqual(sorted(record["probe"] for record in records), [10] * 400 + [11] * 400)
        self.assertEqual(len({record["thread"] for record in records}), 4)

    def test_switched_off_in_between(self):
        query = probes.Probe(probes.LAT, 12)
        for _ in range(100):
            self.assertEqual(query.begin(), 0)
        self.switch("LAT:12")
        for _ in range(3):
            begun = query.begin()
            run("off", str(os.getpid()), "all")
            query.end(begun)
            run("on", str(os.getpid()), "LAT:12")
        self.assertEqual(len(read()), 3)

    def test_hardware_counters_say_that_they_are_not_there(self):
        error = probes.set_counter(0, 0x2E, 0x41)
        self.assertLessEqual(error, 0)
        self.assertEqual(probes.set_counter(99, 0x2E, 0x41), -22)
        if error:
            print(f"SKIPPED: values of hardware counters, as this machine has none: {os.strerror(-error)}")

    def test_mistakes_are_told(self):
        for mistake in [dict(type=3, id=1), dict(type=1, id=70000), dict(type=1, id=1, sub_sampling=0)]:
            with self.assertRaises(ValueError):
                probes.Probe(**mistake)

    def test_without_the_library_all_is_off(self):
        program = "import slowpath_probes as p\nq = p.Probe(p.LAT, 1)\nwith q.measured(): pass\nprint(q.is_on())"
        environment = {**os.environ, "SLOWPATH_PROBES_LIBRARY": "/nowhere.so", "PYTHONPATH": os.path.dirname(probes.__file__)}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        self.assertEqual((done.stdout, done.stderr), ("False\n", ""))


if __name__ == "__main__":
    unittest.main()
