"""What cost.py measures: requests of three spans that do nothing else. `threads`: on one thread; `asyncio`: with
three awaits each. Prints the processor time for one request in nanoseconds. Warm-up is not counted."""

import asyncio
import sys
import time

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

trace.set_tracer_provider(TracerProvider())
tracer = trace.get_tracer("cost")
COUNT = 4000


def request():
    with tracer.start_as_current_span("request"):
        for name in ("first", "second"):
            with tracer.start_as_current_span(name):
                pass


async def asyncio_request():
    with tracer.start_as_current_span("request"):
        await asyncio.sleep(0)
        for name in ("first", "second"):
            with tracer.start_as_current_span(name):
                await asyncio.sleep(0)


async def all_requests():
    for _ in range(COUNT):
        await asyncio_request()
    before = time.process_time_ns()
    for _ in range(COUNT):
        await asyncio_request()
    return time.process_time_ns() - before


if sys.argv[1] == "threads":
    for _ in range(COUNT):
        request()
    before = time.process_time_ns()
    for _ in range(COUNT):
        request()
    print((time.process_time_ns() - before) / COUNT)
else:
    print(asyncio.run(all_requests()) / COUNT)
