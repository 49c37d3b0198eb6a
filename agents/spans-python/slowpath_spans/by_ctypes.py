"""The calls of libslowpath_spans through ctypes, where the extension module _calls could not be built.

The same functions with the same meaning, at about a microsecond each. Not used where _calls is there.
"""

import ctypes

_LOW = (1 << 64) - 1
_library = None
_signals_before_fork = ctypes.create_string_buffer(128)  # a sigset_t


def load(path):
    global _library
    library = ctypes.CDLL(path)
    for name in ("start", "end", "follow"):
        getattr(library, "slowpath_span_" + name).argtypes = [ctypes.c_uint64] * 3
    _library = library


def start(trace_id, span_id):
    _library.slowpath_span_start(trace_id >> 64, trace_id & _LOW, span_id)


def end(trace_id, span_id):
    _library.slowpath_span_end(trace_id >> 64, trace_id & _LOW, span_id)


def follow(trace_id, span_id):
    _library.slowpath_span_follow(trace_id >> 64, trace_id & _LOW, span_id)


def recording():
    return bool(_library.slowpath_span_recording())


def forget():
    _library.slowpath_span_forget()


def before_fork():
    _library.lttng_ust_before_fork(_signals_before_fork)


def after_fork_parent():
    _library.lttng_ust_after_fork_parent(_signals_before_fork)


def after_fork_child():
    _library.lttng_ust_after_fork_child(_signals_before_fork)
