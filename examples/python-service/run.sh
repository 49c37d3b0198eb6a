#!/bin/sh
# Records a Python service under OpenTelemetry's automatic instrumentation and our agent, and shows where
# its slowest requests' time went; check.py holds that against what the service wrote down.
#     run.sh [ORDERS]     SLOWPATH names the binary.        Not a benchmark: one short run.
example=python-service
. "$(dirname "$0")/../begin.sh"
orders=${1:-300}
agent=$PWD/agents/spans-python

make --silent -C "$agent" >&2
[ -f "$agent/build/site/sitecustomize.py" ] || failed "the span agent could not be built" "make setup, see above"
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
export PATH="$cache/venv/bin:$PATH"
"$slowpath" record -o "$recording" --overwrite --agents python -- \
    "$cache/venv/bin/opentelemetry-instrument" python \
    examples/python-service/shop.py serve "$orders" "$cache/journal" >"$cache/truth" 2>"$cache/said" ||
    { kill "$customers"; recording_failed; }
wait "$customers"
rm -f "$cache/journal"

"$slowpath" requests "$recording" --slowest 8
"$slowpath" diagnose "$recording"
answers_hold
