"""Probes for Python: numbers that a program tells of itself while somebody asks for them, by libslowpath_probes.

    import slowpath_probes as probes
    query = probes.Probe(probes.LAT, 7, name="query")
    with query.measured():
        answer(request)

One file, over ctypes: put it on PYTHONPATH or copy it. Where the library cannot be loaded, all probes stay off; the
variable SLOWPATH_PROBES_LIBRARY names it if it is not in build/ beside this folder or on the loader's path. Nothing here raises
into the program but a mistake in a probe's own description. Not an exporter, and not a tracer.
"""

import ctypes
import os

CNT, LAT, TPT, LLC, FLT, CTXSW, PERFCNTR, SNAPSHOT = (1 << number for number in range(8))


def _load():
    here = os.path.dirname(os.path.abspath(__file__))
    named = os.environ.get("SLOWPATH_PROBES_LIBRARY")
    beside = [os.path.join(here, folder, "libslowpath_probes.so") for folder in ("", "../build")]
    for path in [named] if named else [*beside, "libslowpath_probes.so"]:
        try:
            library = ctypes.CDLL(path)
            break
        except OSError as error:
            reason = error
    else:
        if os.environ.get("SLOWPATH_PROBES_VERBOSE", "0") not in ("", "0"):
            os.write(2, f"slowpath-probes: probes in Python stay off: {reason}\n".encode())
        return None
    library.slowpath_probe_new.restype = ctypes.c_void_p
    library.slowpath_probe_new.argtypes = [ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint8, ctypes.c_char_p]
    library.slowpath_probe_switch.restype = ctypes.c_void_p
    library.slowpath_probe_switch.argtypes = [ctypes.c_void_p]
    library.slowpath_probe_enter.restype = ctypes.c_uint64
    library.slowpath_probe_enter.argtypes = [ctypes.c_void_p]
    library.slowpath_probe_leave.restype = None
    library.slowpath_probe_leave.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
    library.slowpath_probe_snapshot.restype = None
    library.slowpath_probe_snapshot.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint64), ctypes.c_uint]
    library.slowpath_set_perfcntr.argtypes = [ctypes.c_uint, ctypes.c_uint32, ctypes.c_uint64]
    return library


_library = _load()
_VALUES = [ctypes.c_uint64 * count for count in range(7)]


class Probe:
    """A probe. Make each once, at module level: it lives as long as the process, also when nothing refers to it.

    `sub_sampling` says how many executions of a thread make one record; `counter` is the number of a performance
    counter (see `set_counter`), of a probe of type PERFCNTR.
    """

    __slots__ = ("_probe", "_switch", "_enter", "_leave")

    def __init__(self, type, id, sub_sampling=1, name="", counter=0):
        if type not in (CNT, LAT, TPT, LLC, FLT, CTXSW, PERFCNTR, SNAPSHOT):
            raise ValueError("type is one of CNT, LAT, TPT, LLC, FLT, CTXSW, PERFCNTR, SNAPSHOT")
        if not (0 <= id <= 65535 and 1 <= sub_sampling < 2**32 - 1 and 0 <= counter <= 15):
            raise ValueError("id is from 0 to 65535, sub_sampling at least 1, counter from 0 to 15")
        self._probe, self._switch = None, ctypes.c_uint32(0)
        if _library:
            self._probe = _library.slowpath_probe_new(id, type, sub_sampling, counter, name.encode())
        if self._probe:
            self._switch = ctypes.c_uint32.from_address(_library.slowpath_probe_switch(self._probe))
            self._enter, self._leave = _library.slowpath_probe_enter, _library.slowpath_probe_leave

    def is_on(self):
        return self._switch.value != 0

    def begin(self):
        """Begins an execution. What it returns is for `end`, on the same thread; nested properly."""
        return self._switch.value and self._enter(self._probe)

    def end(self, begun):
        if begun:
            self._leave(self._probe, begun)

    def measured(self):
        """A context manager: one execution is its block, which must not be left to another thread or coroutine."""
        return _Measured(self) if self._switch.value else _NOT_MEASURED

    def snapshot(self, *values):
        """One to six integers, of a probe of type SNAPSHOT; modulo 2^64."""
        if self._switch.value:
            values = values[:6]
            _library.slowpath_probe_snapshot(self._probe, _VALUES[len(values)](*values), len(values))


class _Measured:
    __slots__ = ("_of", "_begun")

    def __init__(self, probe):
        self._of = probe

    def __enter__(self):
        self._begun = self._of.begin()

    def __exit__(self, *_):
        self._of.end(self._begun)


class _NotMeasured:
    __slots__ = ()

    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass


_NOT_MEASURED = _NotMeasured()


def set_counter(counter, event, mask):
    """What performance counter 0 to 15 counts, by the processor's manual. 0, or a negative errno where there is no such one."""
    return _library.slowpath_set_perfcntr(counter, 4, mask << 8 | event) if _library else -38  # ENOSYS
