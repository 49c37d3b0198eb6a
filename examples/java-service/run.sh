#!/bin/sh
# Records a Java service with a thread pool under the OpenTelemetry agent and our extension, and
# shows where its slowest requests' time went; check.py holds that against what the service wrote down.
#     run.sh [ORDERS]     SLOWPATH names the binary.        Not a benchmark: one short run.
example=java-service
. "$(dirname "$0")/../begin.sh"
orders=${1:-300}
warm_up=1500
agent=agents/spans-java/target
spans=127.0.0.1:18091

make --silent -C agents/spans-java >&2
[ -f "$agent/slowpath-spans.jar" ] || failed "the Java span agent could not be built" "make setup, see above"
javac -d "$cache" examples/java-service/OrderService.java

# Java is slow until it has compiled what it runs often: the service is warm before it is recorded.
export OTEL_SERVICE_NAME=orders OTEL_METRICS_EXPORTER=none OTEL_LOGS_EXPORTER=none
export OTEL_EXPORTER_OTLP_ENDPOINT=http://$spans OTEL_JAVA_EXPORTER_OTLP_RETRY_DISABLED=true OTEL_BSP_SCHEDULE_DELAY=500
java -javaagent:"$agent/for-tests/opentelemetry-javaagent.jar" -Dotel.javaagent.extensions="$agent/slowpath-spans.jar" \
    -cp "$cache" OrderService serve "$cache/ledger" >"$cache/truth" 2>"$cache/said" &
service=$!
trap 'kill "$service" 2>/dev/null || true; rm -f "$cache/ledger"' EXIT
trap 'exit 130' INT TERM
echo "java-service: $warm_up orders to warm up" >&2
java -cp "$cache" OrderService order "$warm_up"

echo "java-service: $orders orders, 6 at a time, while slowpath records" >&2
# The service ends within the recording, as it sends its last spans then.
"$slowpath" record -o "$recording" --overwrite --spans "$spans" --account "$service" -- \
    sh -c 'java -cp "$1" OrderService order "$2" && kill "$3" && tail -f /dev/null --pid="$3"' - \
    "$cache" "$orders" "$service" 2>"$cache/recorder" || recording_failed

"$slowpath" requests "$recording" --slowest 8
"$slowpath" diagnose "$recording"
answers_hold
