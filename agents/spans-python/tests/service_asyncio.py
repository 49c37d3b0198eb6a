"""An aiohttp application that sets up its own SDK and makes its own spans: concurrent requests on one thread.

They leave the event loop by sleep, sub-tasks and threads (asyncio's and anyio's). Environment: LOOP is asyncio
or uvloop. Every seventh request is dropped by the sampler. Serves until its input ends.
"""

import asyncio
import os
import sys

import anyio.to_thread
from aiohttp import web
from opentelemetry import context, trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult

from work import KeepSpans, work, write_truth


class NotEverySeventh(Sampler):
    requests = 0

    def should_sample(self, parent_context, trace_id, name, *args, **kwargs):
        parent = trace.get_current_span(parent_context)
        if parent.get_span_context().is_valid:
            kept = parent.is_recording()
        else:
            self.requests += 1
            kept = self.requests % 7 != 0
        return SamplingResult(Decision.RECORD_AND_SAMPLE if kept else Decision.DROP)

    def get_description(self):
        return "NotEverySeventh"


exporter = KeepSpans()
provider = TracerProvider(sampler=NotEverySeventh())
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
tracer = trace.get_tracer("shop")


async def child(name):
    with tracer.start_as_current_span(name) as span:
        for _ in range(3):
            work(span)
            await asyncio.sleep(0.001)
        work(span)


def in_thread(parent):
    work(parent)
    with tracer.start_as_current_span("in thread") as span:
        work(span)
    work(parent)


async def order(request):
    with tracer.start_as_current_span("order") as span:
        work(span)
        await asyncio.sleep(0.002)
        work(span)
        await asyncio.gather(child("left"), child("right"))
        work(span)
        await asyncio.to_thread(in_thread, span)
        work(span)
        await anyio.to_thread.run_sync(in_thread, span)
        work(span)
        token = context.attach(context.Context())
        asyncio.get_running_loop().call_soon(lambda: None)
        context.detach(token)
        work(span)
    return web.Response(text="done")


async def main():
    app = web.Application()
    app.add_routes([web.get("/", order)])
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    with open(os.environ["PORT"], "w") as file:
        print(runner.addresses[0][1], file=file, flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await runner.cleanup()


if os.environ["LOOP"] == "uvloop":
    import uvloop

    uvloop.run(main())
else:
    asyncio.run(main())
write_truth(exporter.spans)
