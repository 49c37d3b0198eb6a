#!/bin/sh
# Asks `slowpath serve` every question of its own interface and holds the answers to the description
# (docs/reference/openapi.json, tests/tsp/interface.mjs). Skipped, visibly, where Node or a trace is not there.
#     interface.sh SLOWPATH
set -eu
slowpath=$(readlink -f "$1")
cd "$(dirname "$0")/../tests/tsp"
traces=${SLOWPATH_TRACES:-../../../shared/traces}

skipped() {
    echo "SKIPPED: the interface's conformance: $1" >&2
    exit 0
}
command -v npm >/dev/null 2>&1 || skipped "npm is missing"

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
done
# Calls of services are known from files of spans only: one that calls another.
cat >"$work/spans.json" <<'SPANS'
{"data": [{"traceID": "a1", "processes": {"p1": {"serviceName": "shop"}, "p2": {"serviceName": "stock"}}, "spans": [
  {"traceID": "a1", "spanID": "b1", "operationName": "buy", "processID": "p1", "references": [], "startTime": 1000000, "duration": 900, "tags": [], "logs": []},
  {"traceID": "a1", "spanID": "b2", "operationName": "take", "processID": "p2", "startTime": 1000100, "duration": 500, "tags": [], "logs": [],
   "references": [{"refType": "CHILD_OF", "traceID": "a1", "spanID": "b1"}]}]}]}
SPANS
node interface.mjs "$slowpath" ../../docs/reference/openapi.json "$work/futex-contention" "$work/two-hosts" "$work/spans.json"
