#!/bin/sh
# Makes a Python environment with the programs that tests compare with or feed from, in
# .cache/python: tests find it there and skip, visibly, what it lacks. Quiet when there is nothing to
# do; never fails for a package that cannot be had. slowpath itself needs none of it.
set -eu
cd "$(dirname "$0")/.."

wanted=tests/oracles/requirements.txt
made=.cache/python/made-of.txt
say() { printf 'python: %s\n' "$*" >&2; }

cmp -s "$wanted" "$made" && exit 0
if ! python3 -m venv .cache/python >/dev/null 2>&1; then
    say "python3 with the module venv is missing: tests that need Python packages are skipped."
    exit 0
fi
say "installing $(grep -c '^[a-z]' "$wanted") Python packages into .cache/python"
if .cache/python/bin/pip install --quiet --disable-pip-version-check -r "$wanted"; then
    cp "$wanted" "$made"
else
    say "pip could not install them: tests that need them are skipped."
fi
