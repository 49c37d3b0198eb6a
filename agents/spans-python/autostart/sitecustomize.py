"""Switches the agent on where this folder is in PYTHONPATH, for applications without opentelemetry-instrument.

Python imports the first `sitecustomize` that it finds; after our part we run the one that we hide, if any.
"""

import importlib.machinery
import importlib.util
import os
import sys

import slowpath_spans

slowpath_spans.install()

_here = os.path.dirname(os.path.abspath(__file__))
_spec = importlib.machinery.PathFinder.find_spec(
    "sitecustomize", [path for path in sys.path if os.path.abspath(path) != _here]
)
if _spec is not None:
    _module = importlib.util.module_from_spec(_spec)
    sys.modules["sitecustomize"] = _module
    _spec.loader.exec_module(_module)
