#!/bin/sh
# Records a Node service under OpenTelemetry's automatic instrumentation and our agent, and shows where
# its slowest requests' time went; check.py holds that against what the service wrote down.
#     run.sh [ORDERS]     SLOWPATH names the binary.        Not a benchmark: one short run.
example=node-service
. "$(dirname "$0")/../begin.sh"
orders=${1:-300}
agent=$PWD/agents/spans-node

make --silent -C "$agent" >&2
[ -f "$agent/build/slowpath_spans.node" ] || failed "the span agent could not be built" "make setup, see above"
cmp -s examples/node-service/package.json "$cache/package.json" || {
    cp examples/node-service/package.json "$cache/"
    npm install --no-audit --no-fund --silent --prefix "$cache" ||
        { rm "$cache/package.json"; failed "npm could not install OpenTelemetry" "is there a network?"; }
}

echo "node-service: $orders requests, 6 at a time, while slowpath records" >&2
node examples/node-service/shop.js order "$orders" &
customers=$!
export OTEL_SERVICE_NAME=shop OTEL_METRICS_EXPORTER=none OTEL_LOGS_EXPORTER=none OTEL_NODE_RESOURCE_DETECTORS=env
"$slowpath" record -o "$recording" --overwrite --agents node -- \
    node --require "$cache/node_modules/@opentelemetry/auto-instrumentations-node/build/src/register.js" \
    examples/node-service/shop.js serve "$orders" "$cache/ledger" >"$cache/truth" 2>"$cache/said" ||
    { kill "$customers"; recording_failed; }
wait "$customers"
rm -f "$cache/ledger"

"$slowpath" requests "$recording" --slowest 8
"$slowpath" diagnose "$recording"
answers_hold
