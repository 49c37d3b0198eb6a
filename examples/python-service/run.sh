#!/bin/sh
# Records a Python service under OpenTelemetry's automatic instrumentation and our agent, and shows where
# its slowest requests' time went.     run.sh [ORDERS]     SLOWPATH names the binary.
# Not a benchmark: one short run, for looking at.
set -eu
cd "$(dirname "$0")/../.."
slowpath=${SLOWPATH:-target/release/slowpath}
orders=${1:-300}
cache=$PWD/.cache/python-service
recording=python-service-recording
agent=$PWD/agents/spans-python

failed() {
    echo "python-service: $1" >&2
    echo "hint: $2" >&2
    exit 1
}
[ -x "$slowpath" ] || failed "there is no $slowpath" "make build, or name the binary by SLOWPATH"
[ ! -e "$recording" ] || [ -f "$recording/slowpath.json" ] || failed "$recording is not a recording" "move it away"
make --silent -C "$agent" >&2
[ -f "$agent/build/site/sitecustomize.py" ] || failed "the span agent could not be built" "make setup, see above"
mkdir -p "$cache"
cmp -s examples/python-service/requirements.txt "$cache/requirements.txt" || {
    python3 -m venv "$cache/venv" &&
        "$cache/venv/bin/pip" install --quiet --disable-pip-version-check -r examples/python-service/requirements.txt ||
        failed "pip could not install Flask and OpenTelemetry" "is there a network, and python3-venv?"
    cp examples/python-service/requirements.txt "$cache/"
}

echo "python-service: $orders requests, 6 at a time, while slowpath records" >&2
python3 examples/python-service/shop.py order "$orders" &
customers=$!
export OTEL_SERVICE_NAME=shop OTEL_METRICS_EXPORTER=none OTEL_LOGS_EXPORTER=none
export PATH="$cache/venv/bin:$PATH" PYTHONPATH="$agent/build/site"
"$slowpath" record -o "$recording" --overwrite -- \
    "$cache/venv/bin/opentelemetry-instrument" python \
    examples/python-service/shop.py serve "$orders" "$cache/journal" 2>"$cache/said" ||
    { kill "$customers"; failed "recording failed; the end of what was said: $(tail -n 5 "$cache/said")" "see $cache/said"; }
wait "$customers"
rm -f "$cache/journal"

"$slowpath" count "$recording" | grep slowpath_span ||
    failed "the recording has no span events" "is lttng-tools installed? make setup; see $cache/said"
"$slowpath" requests "$recording" --slowest 8
