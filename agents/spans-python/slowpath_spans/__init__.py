"""Tells slowpath, as LTTng-UST events, when OpenTelemetry spans start and end and where they are current.

`install()` is called by `opentelemetry-instrument` (an entry point) or by autostart/sitecustomize.py; it
waits for the application to import OpenTelemetry and does nothing before. Not an SDK: it creates no span
and exports none. Nothing in this package may raise into the application.
"""

import os
import sys

_installed = False


def install():
    """Makes this process tell of its spans. Where that cannot be, says so in one line on stderr."""
    global _installed
    if _installed:
        return
    _installed = True
    try:
        calls = _load()
        _live_through_forks(calls)
        from . import contexts, spans
        from .imports import when_imported

        follower = contexts.Follower(calls)
        when_imported("opentelemetry.sdk.trace", lambda module: spans.tell(module, calls, follower))
        when_imported("uvloop", follower.watch_uvloop)
        when_imported("asyncio.threads", follower.watch_to_thread)
        when_imported("anyio.to_thread", follower.watch_anyio)
    except Exception as cause:  # a guest never fails its host
        print(f"slowpath: spans are not recorded: {cause}", file=sys.stderr)


def _load():
    """The module with the calls, its library loaded."""
    try:
        from . import _calls as calls
    except ImportError:
        from . import by_ctypes as calls
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libslowpath_spans.so")
    library = os.environ.get("SLOWPATH_SPANS_LIBRARY") or (
        beside if os.path.exists(beside) else "libslowpath_spans.so"
    )
    try:
        calls.load(library)
    except OSError as cause:
        raise OSError(f"{cause} (hint: apt-get install liblttng-ust1)") from cause
    return calls


def _live_through_forks(calls):
    """Has LTTng start anew in forked workers, unless its own library for that is preloaded."""
    if "liblttng-ust-fork" not in os.environ.get("LD_PRELOAD", ""):
        os.register_at_fork(
            before=calls.before_fork,
            after_in_parent=calls.after_fork_parent,
            after_in_child=calls.after_fork_child,
        )
