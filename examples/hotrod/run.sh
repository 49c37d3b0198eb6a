#!/bin/sh
# Records Jaeger's HotROD, unchanged, under load: four Go services that together answer a ride request.
# Its source comes from the Go module proxy; only how it is built differs (agents/spans-go).
# Not a benchmark: one short run, for looking at.     run.sh [REQUESTS]     SLOWPATH names the binary.
set -eu
cd "$(dirname "$0")/../.."
slowpath=${SLOWPATH:-target/release/slowpath}
requests=${1:-200}
build=$PWD/.cache/hotrod
recording=hotrod-recording
library=$PWD/agents/spans-native/build/libslowpath_spans.so

failed() {
    echo "hotrod: $1" >&2
    echo "hint: $2" >&2
    exit 1
}
command -v go >/dev/null 2>&1 || failed "Go is missing" "install Go 1.25 or later"
[ -x "$slowpath" ] || failed "there is no $slowpath" "make build, or name the binary by SLOWPATH"
[ ! -e "$recording" ] || [ -f "$recording/slowpath.json" ] ||
    failed "$recording is not a recording" "move it away"

[ -x "$build/hotrod" ] && [ -x "$build/load" ] || sh examples/hotrod/build.sh "$build"
make --silent -C agents/spans-native

echo "hotrod: $requests ride requests, 8 at a time, while slowpath records" >&2
SLOWPATH_SPANS_LIBRARY=$library "$slowpath" record -o "$recording" --overwrite -- \
    "$build/load" -requests "$requests" -at-once 8 -- "$build/hotrod" all \
    --frontend-service-hostname 127.0.0.1 --customer-service-hostname 127.0.0.1 \
    --driver-service-hostname 127.0.0.1 --route-service-hostname 127.0.0.1 2>"$build/said" ||
    failed "recording failed; the end of what was said: $(tail -n 5 "$build/said")" "see $build/said"
grep '^load:' "$build/said"

echo "Recorded: $recording. Its span events by kind:"
"$slowpath" count "$recording" | grep slowpath_span ||
    failed "the recording has no span events" "is lttng-tools installed? make setup; see $build/said"
