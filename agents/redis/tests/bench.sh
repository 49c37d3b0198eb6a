#!/bin/sh
# What the agent costs a server, without and with recording (see bench.py).
. "$(dirname "$0")/../../tests-begin.sh"
command -v redis-benchmark >/dev/null 2>&1 || { echo "SKIPPED: redis-benchmark is missing (make setup)"; exit 0; }
[ -n "$OWN_LTTNG" ] || exit 0
TMPDIR=$folder python3 tests/bench.py
