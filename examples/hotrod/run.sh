#!/bin/sh
# Records Jaeger's HotROD, unchanged, under load: four Go services that together answer a ride request.
# Its source comes from the Go module proxy; only how it is built differs (agents/spans-go).
# check.py holds what slowpath says against what the clients saw.
#     run.sh [REQUESTS]     SLOWPATH names the binary.        Not a benchmark: one short run.
example=hotrod
. "$(dirname "$0")/../begin.sh"
requests=${1:-100}

command -v go >/dev/null 2>&1 || failed "Go is missing" "install Go 1.25 or later"

[ -x "$cache/hotrod" ] && [ -x "$cache/load" ] || sh examples/hotrod/build.sh "$cache"
make --silent -C agents/spans-native

echo "hotrod: $requests ride requests, 8 at a time, while slowpath records" >&2
"$slowpath" record -o "$recording" --overwrite -- \
    "$cache/load" -requests "$requests" -at-once 8 -- "$cache/hotrod" all \
    --frontend-service-hostname 127.0.0.1 --customer-service-hostname 127.0.0.1 \
    --driver-service-hostname 127.0.0.1 --route-service-hostname 127.0.0.1 2>"$cache/said" ||
    recording_failed
grep '^load:' "$cache/said"

"$slowpath" requests "$recording" --operation /dispatch --slowest 8
"$slowpath" services "$recording" | head -n 24
answers_hold "$requests"
