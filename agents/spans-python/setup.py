"""Builds the extension module (one for all Python 3) and packs the C library from ../spans-native.

Both are optional: without a compiler ctypes calls the library, without LTTng's headers the library is
looked for on the machine when the application starts. Everything else stands in pyproject.toml.
"""

import os
import shutil
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = os.path.dirname(os.path.abspath(__file__))
NATIVE = os.path.join(HERE, "..", "spans-native")
LIBRARY = "libslowpath_spans.so"


class BuildBoth(build_ext):
    def run(self):
        super().run()
        try:
            subprocess.run(["make", "-C", NATIVE], check=True, stdout=subprocess.DEVNULL)
        except (OSError, subprocess.CalledProcessError) as cause:
            print(f"slowpath: {LIBRARY} is not packed: {cause}", file=sys.stderr)
            return
        package = "slowpath_spans" if self.inplace else os.path.join(self.build_lib, "slowpath_spans")
        os.makedirs(package, exist_ok=True)
        shutil.copy(os.path.join(NATIVE, "build", LIBRARY), package)


setup(
    cmdclass={"build_ext": BuildBoth},
    ext_modules=[
        Extension(
            "slowpath_spans._calls",
            ["slowpath_spans/_calls.c"],
            define_macros=[("Py_LIMITED_API", "0x03090000")],
            py_limited_api=True,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp39"}},
)
