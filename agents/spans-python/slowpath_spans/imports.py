"""Calls back when the application has imported a module, so that we need not import it ourselves.

Works for modules that are there already. Leaves finding and loading to Python's own machinery.
"""

import importlib.abc
import sys

_waiting = {}


def when_imported(name, visit):
    """Calls `visit(module)` as soon as the module of that name has been executed; now, if it has been."""
    module = sys.modules.get(name)
    if module is not None:
        _guarded(visit, module)
        return
    if not _waiting:
        sys.meta_path.insert(0, _Finder())
    _waiting[name] = visit


def _guarded(visit, module):
    try:
        visit(module)
    except Exception as cause:
        print(f"slowpath: spans are not recorded: {module.__name__}: {cause!r}", file=sys.stderr)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name not in _waiting:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                break
        else:
            return None
        load = getattr(spec.loader, "exec_module", None)
        if load is None:
            return spec

        def exec_module(module):
            load(module)
            visit = _waiting.pop(name, None)
            if visit is not None:
                _guarded(visit, module)

        spec.loader.exec_module = exec_module
        return spec
