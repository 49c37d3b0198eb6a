"""Follows the current span of each thread: OpenTelemetry's attach and detach, and asyncio's callbacks.

contextvars give no event when a context becomes current (a task resumes, a function runs in a copied
context), so each place where that happens is wrapped. All of it only while something records. What cannot
be seen is told as "on no span", never as the wrong one.
"""

import asyncio
import os
import sys
import threading
from functools import wraps

# Attaches of one thread that are remembered until their detach.
MOST_ATTACHED = 64


class _Thread(threading.local):
    """What we know of one thread: the span told last, and the attaches of the callback (or thread) that runs."""

    def __init__(self):
        self.span = None
        self.in_callback = False
        self.attached = []  # (token, span before), oldest first


class Follower:
    def __init__(self, calls):
        self._calls = calls
        self._thread = _Thread()
        self._on = False
        self._lock = threading.Lock()
        self._patches = []  # (object, name, original, wrapper)
        self._get_current_span = None
        os.register_at_fork(after_in_child=self._in_forked_child)

    def _start_anew(self):
        """No thread is on any span as far as was told: a recording begins, or a process."""
        self._thread = _Thread()
        self._calls.forget()

    def _in_forked_child(self):
        self._lock = threading.Lock()  # another thread of the parent may have held it
        self._start_anew()

    def is_recording(self):
        """Asks the library; puts the wrappers in or takes them out when its answer has changed."""
        now = self._calls.recording()
        if now is not self._on:
            self._turn(now)
        return now

    def while_recording(self, owner, name, wrapper):
        """Has `owner.name` replaced by the wrapper while something records."""
        with self._lock:
            patch = (owner, name, getattr(owner, name), wrapper)
            self._patches.append(patch)
            if self._on:
                setattr(owner, name, wrapper)

    def _turn(self, on):
        with self._lock:
            if on is self._on:
                return
            self._on = on
            if on:
                self._start_anew()
            for owner, name, original, wrapper in self._patches:
                # Others may have wrapped our wrapper meanwhile: then it stays, and is harmless.
                if getattr(owner, name) == (original if on else wrapper):
                    setattr(owner, name, wrapper if on else original)

    def watch(self, span_class):
        """Begins to follow the spans of this class; OpenTelemetry has been imported."""
        from opentelemetry import context
        from opentelemetry.trace import get_current_span

        self._span_class = span_class
        self._get_current_span = get_current_span
        if _greenlets_share_threads():
            print(
                "slowpath: gevent or eventlet switch requests unseen: spans start and end, but are not"
                " attached to threads",
                file=sys.stderr,
            )
            return
        runtime = context._RUNTIME_CONTEXT
        original_attach, original_detach = runtime.attach, runtime.detach

        def attach(context):
            token = original_attach(context)
            if self._sees_switches():
                thread = self._thread
                if len(thread.attached) >= MOST_ATTACHED:  # somebody never detaches
                    del thread.attached[0]
                thread.attached.append((token, thread.span))
                self._follow(self._told(get_current_span(context)))
            return token

        def detach(token):
            original_detach(token)
            if self._sees_switches():
                self._follow(self._before(token))

        self.while_recording(runtime, "attach", attach)
        self.while_recording(runtime, "detach", detach)
        original_run = asyncio.Handle._run

        def _run(handle):
            return self._within(self._span_in(handle._context), original_run, (handle,), {})

        self.while_recording(asyncio.Handle, "_run", _run)
        self.is_recording()  # the first request is to be followed from its beginning

    def watch_uvloop(self, uvloop):
        """uvloop has handles of its own; every step of a task passes its call_soon, though."""
        original = uvloop.Loop.call_soon

        def call_soon(loop, callback, *args, context=None):
            return original(loop, self._watched(callback), *args, context=context)

        self.while_recording(uvloop.Loop, "call_soon", call_soon)

    def watch_to_thread(self, threads):
        original = threads.to_thread

        @wraps(original)
        async def to_thread(function, /, *args, **kwargs):
            return await original(self._watched(function) if self._on else function, *args, **kwargs)

        # Wrapped for good, as applications import it by name.
        threads.to_thread = to_thread
        if getattr(asyncio, "to_thread", None) is original:
            asyncio.to_thread = to_thread

    def watch_anyio(self, to_thread):
        original = to_thread.run_sync

        @wraps(original)
        async def run_sync(function, *args, **kwargs):
            return await original(self._watched(function) if self._on else function, *args, **kwargs)

        to_thread.run_sync = run_sync

    def _watched(self, function):
        """The function, to be called in the context that it belongs to: its span is followed meanwhile."""

        def watched(*args, **kwargs):
            span = self._told(self._get_current_span()) if self._get_current_span else None
            return self._within(span, function, args, kwargs)

        return watched

    def _within(self, span, function, args, kwargs):
        thread = self._thread
        outer, in_callback, attached = thread.span, thread.in_callback, thread.attached
        self._follow(span)
        thread.in_callback, thread.attached = True, []
        try:
            return function(*args, **kwargs)
        finally:
            thread.in_callback, thread.attached = in_callback, attached
            if thread is self._thread:  # else another recording began meanwhile
                self._follow(outer)

    def _sees_switches(self):
        """False in an event loop's callback that began before the recording: its end would not be seen."""
        return self._thread.in_callback or asyncio._get_running_loop() is None

    def _span_in(self, context):
        try:
            return self._told(context.run(self._get_current_span))
        except RuntimeError:  # it is entered elsewhere
            return None

    def _told(self, span):
        """The span if it is one of this process's SDK, so that its start was or could have been told."""
        return span if isinstance(span, self._span_class) else None

    def _before(self, token):
        """The span to go back to on detach: that before the attach, where it was in this callback or thread."""
        attached = self._thread.attached
        for place in reversed(range(len(attached))):
            if attached[place][0] is token:
                span = attached[place][1]
                del attached[place:]
                return span
        return self._told(self._get_current_span()) if self._thread.in_callback else None

    def _follow(self, span):
        thread = self._thread
        if span is thread.span:
            return
        thread.span = span
        if span is None:
            self._calls.follow(0, 0)
        else:
            ids = span.get_span_context()
            self._calls.follow(ids.trace_id, ids.span_id)


def _greenlets_share_threads():
    gevent = sys.modules.get("gevent.monkey")
    eventlet = sys.modules.get("eventlet.patcher")
    return bool(
        (gevent and gevent.is_module_patched("threading")) or (eventlet and eventlet.is_monkey_patched("thread"))
    )
