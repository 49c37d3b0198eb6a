"""A program that sets up OpenTelemetry and then forks workers, as pre-forking web servers do; each makes spans."""

import os

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from work import KeepSpans, work, write_truth

exporter = KeepSpans()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
tracer = provider.get_tracer("workers")

with tracer.start_as_current_span("parent") as parent:
    work(parent)
    for _ in range(2):
        child = os.fork()
        if child == 0:
            with tracer.start_as_current_span("in worker") as span:
                work(span)
            write_truth(exporter.spans)
            os._exit(0)
        os.waitpid(child, 0)
    work(parent)
write_truth(exporter.spans)
