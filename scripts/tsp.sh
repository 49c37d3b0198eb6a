#!/bin/sh
# Drives `slowpath serve` through the Trace Server Protocol's own client (tests/tsp) and holds every answer
# to the published description. Skipped, visibly, where Node, the description or a trace is not there.
#     tsp.sh SLOWPATH
set -eu
slowpath=$(readlink -f "$1")
cd "$(dirname "$0")/../tests/tsp"
shared=../../../shared
description=${SLOWPATH_TSP:-$shared/tsp/API.yaml}
traces=${SLOWPATH_TRACES:-$shared/traces}

skipped() {
    echo "SKIPPED: the Trace Server Protocol's conformance: $1" >&2
    exit 0
}
command -v npm >/dev/null 2>&1 || skipped "npm is missing"
[ -f "$description" ] || skipped "$description is not there; SLOWPATH_TSP names the description"

installed=node_modules/.installed
if [ ! -e "$installed" ] || [ package-lock.json -nt "$installed" ]; then
    npm ci --no-audit --no-fund --loglevel=error >&2
    touch "$installed"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
for trace in futex-contention two-hosts; do
    archive=$traces/$trace/$trace.tar.zst
    [ -f "$archive" ] || skipped "$archive is not there; SLOWPATH_TRACES names the folder of traces"
    zstd -dcq "$archive" | tar -xf - -C "$work"
    echo "$trace:"
    node conformance.mjs "$slowpath" "$work/$trace" "$description" "${SLOWPATH_REFERENCE:-$shared/reference}/tsp-many-threads"
done
