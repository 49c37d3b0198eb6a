"""The agent in real applications, under a real LTTng session. Not a test of the events themselves: see
../../spans-native."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from support import SITE, Checks, Program, needs_lttng, recorded


@needs_lttng
class Recorded(Checks):
    def check_asyncio(self, **how):
        with recorded() as events:
            service = Program("service_asyncio.py", **how)
            service.load()
            work, spans = service.finish()
        self.assertEqual(service.stderr, "")
        self.assertEqual(len(spans), 35 * 5)
        self.assertGreater(len(work), 35 * 15)
        self.assertGreater(len({piece[0] for piece in work}), 2)
        self.assert_starts_and_ends(events, spans)
        self.assert_properly_nested(events)
        self.assert_work_is_followed(events, work)

    def test_own_sdk_on_asyncio(self):
        self.check_asyncio(LOOP="asyncio")

    def test_own_sdk_on_uvloop(self):
        self.check_asyncio(LOOP="uvloop")

    def test_own_sdk_by_ctypes(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["cp", "-r", f"{SITE}/.", folder], check=True)
            for module in Path(folder, "slowpath_spans").glob("_calls*.so"):
                module.unlink()
            self.check_asyncio(LOOP="asyncio", path=[folder])

    def test_flask_with_opentelemetry_instrument(self):
        with recorded() as events:
            service = Program(
                "service_flask.py",
                instrument=True,
                OTEL_TRACES_EXPORTER="console",
                OTEL_METRICS_EXPORTER="none",
                OTEL_LOGS_EXPORTER="none",
            )
            service.load()
            work, _ = service.finish()
        spans = exported_to_console(service.stdout)
        self.assertEqual(len(spans), 40 * 5)
        self.assertGreater(len({piece[0] for piece in work}), 8)
        self.assert_starts_and_ends(events, spans)
        self.assert_properly_nested(events)
        self.assert_work_is_followed(events, work)

    def test_forked_workers(self):
        with recorded() as events:
            work, spans = Program("forking.py").finish()
        # Each worker began within the parent's span, which only the parent ends and exports.
        self.assertEqual(len(spans), 3)
        self.assert_starts_and_ends(events, spans)
        self.assertEqual(len({e.tid for e in events}), 3)
        self.assert_properly_nested(events)
        self.assert_work_is_followed(events, work)

    def test_recordings_while_the_application_runs(self):
        service = Program("service_asyncio.py", LOOP="asyncio")
        service.load(count=10)
        for _ in range(2):
            with recorded() as events:
                service.load(count=20)
            service.load(count=10)
            self.assertGreater(sum(e.name == "attach" for e in events), 17 * 5)
            starts = [(e.trace, e.span) for e in events if e.name == "start_span"]
            self.assertGreaterEqual(len(starts), 17 * 5)
            self.assert_starts_and_ends(events, starts)
            self.assert_properly_nested(events)
        service.finish()


class NotRecorded(Checks):
    def test_without_the_library_one_line_and_service(self):
        service = Program(
            "service_asyncio.py", LOOP="asyncio", SLOWPATH_SPANS_LIBRARY="/nowhere/libslowpath_spans.so"
        )
        service.load()
        service.finish()
        self.assertRegex(
            service.stderr,
            r"\Aslowpath: spans are not recorded: /nowhere/libslowpath_spans\.so: .*hint: .*\n\Z",
        )

    def test_programs_without_opentelemetry_are_left_alone(self):
        program = "import sys; sys.exit('opentelemetry' in sys.modules)"
        done = subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(SITE)}, capture_output=True
        )
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_a_sitecustomize_of_the_users_own_still_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "sitecustomize.py").write_text("import sys; sys.users_own = True")
            program = "import sys, slowpath_spans; sys.exit(not (sys.users_own and slowpath_spans._installed))"
            path = os.pathsep.join([str(SITE), folder])
            done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": path})
            self.assertEqual(done.returncode, 0)


def exported_to_console(text):
    """The [trace, span] of each span that the console exporter printed: JSON documents one after another."""
    spans, decoder = [], json.JSONDecoder()
    while text.strip():
        span, end = decoder.raw_decode(text.lstrip())
        spans.append([span["context"]["trace_id"][2:], span["context"]["span_id"][2:]])
        text = text.lstrip()[end:]
    return spans


if __name__ == "__main__":
    unittest.main()
