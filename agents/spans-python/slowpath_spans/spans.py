"""Tells of each span's start and end by wrapping `Span.start` and `Span.end` of the SDK's class.

The class, not a SpanProcessor: so every provider is covered, whoever sets it and whenever, and no exporter
runs between the end of a span and its event. Spans that the sampler dropped have another class and are
left alone. Each start is also where we notice that a recording began or ended.
"""

from functools import wraps


def tell(sdk_trace, calls, follower):
    span_class = sdk_trace.Span
    original_start = span_class.start
    original_end = span_class.end
    is_recording = follower.is_recording

    @wraps(original_start)
    def start(self, *args, **kwargs):
        original_start(self, *args, **kwargs)
        if is_recording():
            ids = self.get_span_context()
            calls.start(ids.trace_id, ids.span_id)

    @wraps(original_end)
    def end(self, *args, **kwargs):
        if self.is_recording():
            ids = self.get_span_context()
            calls.end(ids.trace_id, ids.span_id)
        return original_end(self, *args, **kwargs)

    span_class.start = start
    follower.while_recording(span_class, "end", end)
    follower.watch(span_class)
