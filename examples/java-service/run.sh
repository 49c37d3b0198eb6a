#!/bin/sh
# Records a Java service with a thread pool under the OpenTelemetry agent and our extension, and
# shows where its slowest request's time went.     run.sh [ORDERS]     SLOWPATH names the binary.
# Not a benchmark: one short run, for looking at.
example=java-service
. "$(dirname "$0")/../begin.sh"
orders=${1:-300}
agent=agents/spans-java/target

make --silent -C agents/spans-java >&2
[ -f "$agent/slowpath-spans.jar" ] || failed "the Java span agent could not be built" "make setup, see above"
javac -d "$cache" examples/java-service/OrderService.java

echo "java-service: $orders orders, 6 at a time, while slowpath records" >&2
java -cp "$cache" OrderService order "$orders" &
customers=$!
export OTEL_SERVICE_NAME=orders OTEL_METRICS_EXPORTER=none OTEL_LOGS_EXPORTER=none
"$slowpath" record -o "$recording" --overwrite -- \
    java -javaagent:"$agent/for-tests/opentelemetry-javaagent.jar" -Dotel.javaagent.extensions="$agent/slowpath-spans.jar" \
    -cp "$cache" OrderService serve "$orders" "$cache/ledger" 2>"$cache/said" ||
    { kill "$customers"; recording_failed; }
wait "$customers"
rm -f "$cache/ledger"

has_spans
"$slowpath" requests "$recording" --slowest 5
