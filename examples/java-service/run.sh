#!/bin/sh
# Records a Java service with a thread pool under the OpenTelemetry agent and our extension, and
# shows where its slowest request's time went.     run.sh [ORDERS]     SLOWPATH names the binary.
# Not a benchmark: one short run, for looking at.
set -eu
cd "$(dirname "$0")/../.."
slowpath=${SLOWPATH:-target/release/slowpath}
orders=${1:-300}
build=$PWD/.cache/java-service
recording=java-service-recording
agent=agents/spans-java/target

failed() {
    echo "java-service: $1" >&2
    echo "hint: $2" >&2
    exit 1
}
[ -x "$slowpath" ] || failed "there is no $slowpath" "make build, or name the binary by SLOWPATH"
[ ! -e "$recording" ] || [ -f "$recording/slowpath.json" ] || failed "$recording is not a recording" "move it away"
make --silent -C agents/spans-java >&2
[ -f "$agent/slowpath-spans.jar" ] || failed "the Java span agent could not be built" "make setup, see above"
mkdir -p "$build"
javac -d "$build" examples/java-service/OrderService.java

echo "java-service: $orders orders, 6 at a time, while slowpath records" >&2
java -cp "$build" OrderService order "$orders" &
customers=$!
export OTEL_SERVICE_NAME=orders OTEL_METRICS_EXPORTER=none OTEL_LOGS_EXPORTER=none
"$slowpath" record -o "$recording" --overwrite -- \
    java -javaagent:"$agent/for-tests/opentelemetry-javaagent.jar" -Dotel.javaagent.extensions="$agent/slowpath-spans.jar" \
    -cp "$build" OrderService serve "$orders" "$build/ledger" 2>"$build/said" ||
    { kill "$customers"; failed "recording failed; the end of what was said: $(tail -n 5 "$build/said")" "see $build/said"; }
wait "$customers"
rm -f "$build/ledger"

"$slowpath" count "$recording" | grep slowpath_span ||
    failed "the recording has no span events" "is lttng-tools installed? make setup; see $build/said"
"$slowpath" requests "$recording" --slowest 5
