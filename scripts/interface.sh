#!/bin/sh
# Holds the answers of `slowpath serve` to their descriptions (tests/tsp): its own interface to
# docs/reference/openapi.json, and the Trace Server Protocol, driven through its own client, to what is
# published. Skipped, visibly, where Node, a trace or the protocol's description is not there.
#     interface.sh SLOWPATH
set -eu
slowpath=$(readlink -f "$1")
cd "$(dirname "$0")/../tests/tsp"
shared=../../../shared
traces=${SLOWPATH_TRACES:-$shared/traces}
protocol=${SLOWPATH_TSP:-$shared/tsp/API.yaml}

skipped() {
    echo "SKIPPED: $1" >&2
    exit 0
}
command -v npm >/dev/null 2>&1 || skipped "conformance of the server's answers: npm is missing"

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
    [ -f "$archive" ] || skipped "conformance of the server's answers: $archive is not there; SLOWPATH_TRACES names the folder of traces"
    zstd -dcq "$archive" | tar -xf - -C "$work"
done

# Calls of services are known from files of spans only: one that calls another.
cat >"$work/spans.json" <<'SPANS'
{"data": [{"traceID": "a1", "processes": {"p1": {"serviceName": "shop"}, "p2": {"serviceName": "stock"}}, "spans": [
  {"traceID": "a1", "spanID": "b1", "operationName": "buy", "processID": "p1", "references": [], "startTime": 1000000, "duration": 900, "tags": [], "logs": []},
  {"traceID": "a1", "spanID": "b2", "operationName": "take", "processID": "p2", "startTime": 1000100, "duration": 500, "tags": [], "logs": [],
   "references": [{"refType": "CHILD_OF", "traceID": "a1", "spanID": "b1"}]}]}]}
SPANS
# What data stores did is known where one was recorded from inside.
zstd -dcq ../fixtures/redis-commands/recording.tar.zst | tar -xf - -C "$work"
# An exploration of a known function, which fails at one place.
cat >"$work/s.toml" <<'SPEC'
[parameters.a]
type = "integer"
min = 1
max = 3
[parameters.b]
type = "category"
values = ["x", "y"]
[workload]
command = 'test {{a}} != 3 && echo cost {{a}}'
[metrics.cost]
regex = 'cost (\d+)'
[[objectives]]
minimise = "cost"
[trials]
per_configuration = 2
SPEC
"$slowpath" explore "$work/s.toml" -o "$work/explored" --no-reasons >"$work/explored.said" 2>&1
node interface.mjs "$slowpath" ../../docs/reference/openapi.json "$work/futex-contention" "$work/two-hosts" "$work/spans.json" "$work/lite" \
    ../fixtures/transfers ../fixtures/transfers-on-services "$work/explored"

[ -f "$protocol" ] || skipped "the Trace Server Protocol's conformance: $protocol is not there; SLOWPATH_TSP names it"
for trace in futex-contention two-hosts; do
    echo "$trace:"
    node conformance.mjs "$slowpath" "$work/$trace" "$protocol" "${SLOWPATH_REFERENCE:-$shared/reference}/tsp-many-threads"
done
