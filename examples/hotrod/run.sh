#!/bin/sh
# Records Jaeger's HotROD, unchanged, under load: four Go services that together answer a ride request.
# Its source comes from the Go module proxy; only how it is built differs (agents/spans-go).
# Not a benchmark: one short run, for looking at.     run.sh [REQUESTS]     SLOWPATH names the binary.
example=hotrod
. "$(dirname "$0")/../begin.sh"
requests=${1:-200}
library=$PWD/agents/spans-native/build/libslowpath_spans.so

command -v go >/dev/null 2>&1 || failed "Go is missing" "install Go 1.25 or later"

[ -x "$cache/hotrod" ] && [ -x "$cache/load" ] || sh examples/hotrod/build.sh "$cache"
make --silent -C agents/spans-native

echo "hotrod: $requests ride requests, 8 at a time, while slowpath records" >&2
SLOWPATH_SPANS_LIBRARY=$library "$slowpath" record -o "$recording" --overwrite -- \
    "$cache/load" -requests "$requests" -at-once 8 -- "$cache/hotrod" all \
    --frontend-service-hostname 127.0.0.1 --customer-service-hostname 127.0.0.1 \
    --driver-service-hostname 127.0.0.1 --route-service-hostname 127.0.0.1 2>"$cache/said" ||
    recording_failed
grep '^load:' "$cache/said"

echo "Recorded: $recording. Its span events by kind:"
has_spans
