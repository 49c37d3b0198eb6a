"""Pieces of work that the test services do and keep the truth of: what span, on what thread, from when to when.

Times are of the monotonic clock, which LTTng uses too. What the events say is held against this.
"""

import json
import os
import threading
import time

_truth = []
os.register_at_fork(after_in_child=_truth.clear)


def work(span):
    """Keeps the processor busy for a fifth of a millisecond for the span."""
    begin = time.monotonic_ns()
    while (end := time.monotonic_ns()) - begin < 200_000:
        pass
    ids = span.get_span_context()
    if span.is_recording():
        _truth.append([threading.get_native_id(), f"{ids.trace_id:032x}", f"{ids.span_id:016x}", begin, end])


def write_truth(spans=None):
    """Appends to the file named by TRUTH: the pieces of work, and the spans where the service exports them."""
    with open(os.environ["TRUTH"], "a") as file:
        file.write(json.dumps({"work": _truth, "spans": spans}) + "\n")


class KeepSpans:
    """A span exporter that keeps the ids."""

    def __init__(self):
        self.spans = []

    def export(self, spans):
        self.spans += [[f"{span.context.trace_id:032x}", f"{span.context.span_id:016x}"] for span in spans]

    def shutdown(self):
        pass

    def force_flush(self, timeout_millis=30000):
        return True
