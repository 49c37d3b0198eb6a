#!/bin/sh
# A real server in a control group whose CPU quota becomes 1 % of a processor for some seconds: Cassandra
# under constant load is recorded, the recording is asked what was slow and why, and the answers are
# checked (check.py) against what was set. Not a benchmark: one short run, on an otherwise calm machine.
#     run.sh [QUOTA_MICROSECONDS [PERIOD_MICROSECONDS]]     SLOWPATH names the binary.
example=cpu-quota
. "$(dirname "$0")/../begin.sh"
quota=${1:-1000}
period=${2:-100000}
here=$PWD/examples/$example
agent=$PWD/agents/spans-java/target

. "$here/quota.sh"

make --silent -C agents/spans-java >&2
[ -f "$agent/slowpath-spans.jar" ] || failed "the Java span agent could not be built" "make setup, see above"
mkdir -p "$cache/classes"
if [ ! -f "$cache/fetched" ]; then
    echo "cpu-quota: fetching Cassandra and its driver (about 60 MB)" >&2
    mvn --quiet --batch-mode -f "$here/pom.xml" dependency:copy-dependencies -DoutputDirectory="$cache/lib" >&2 ||
        failed "Cassandra could not be fetched" "see above; Maven needs its repository"
    touch "$cache/fetched"
fi
javac -cp "$cache/lib/*" -d "$cache/classes" "$here/Load.java"
cat >"$cache/load.options" <<END
-XX:TieredStopAtLevel=1
-Dlogback.configurationFile="file://$here/logback.xml"
-cp "$cache/classes:$cache/lib/*"
END

make_group slowpath-cpu-quota
set_quota max "$period"
server=
load=
cleaned_up() {
    [ -z "$load" ] || kill "$load" 2>/dev/null || true
    if [ -n "$server" ]; then
        set_quota max "$period"
        kill "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
    fi
    rm -rf "$cache/data"
    remove_group
}
trap cleaned_up EXIT
trap 'exit 130' INT TERM

echo "cpu-quota: Cassandra starts in $group" >&2
rm -rf "$cache/data"
mkdir -p "$cache/data"
# No exporter: span events suffice, and nobody listens for spans by OTLP.
(
    export OTEL_TRACES_EXPORTER=none OTEL_METRICS_EXPORTER=none OTEL_LOGS_EXPORTER=none
    exec sh -c 'echo $$ >"$1"; shift; exec "$@"' - "$group/cgroup.procs" java @"$here/server.options" \
        -javaagent:"$agent/for-tests/opentelemetry-javaagent.jar" \
        -Dotel.javaagent.extensions="$agent/slowpath-spans.jar" \
        -Dotel.instrumentation.common.default-enabled=false -Dotel.instrumentation.methods.enabled=true \
        '-Dotel.instrumentation.methods.include=org.apache.cassandra.transport.messages.ExecuteMessage[execute]' \
        -Dlogback.configurationFile="file://$here/logback.xml" -Dcassandra.config="file://$here/cassandra.yaml" \
        -Dcassandra.storagedir="$cache/data" -cp "$cache/lib/*" org.apache.cassandra.service.CassandraDaemon
) >"$cache/said" 2>&1 &
server=$!
java @"$cache/load.options" Load warm-up 20000 >&2 || failed "Cassandra does not answer: $(tail -n 3 "$cache/said")" "see $cache/said"

echo "cpu-quota: 16 s of constant load while slowpath records; for 5 s of it $quota us in every $period us" >&2
rm -f "$cache/clients"
"$slowpath" record -o "$recording" --overwrite --account "$server" -- \
    java @"$cache/load.options" Load read 16 6 40 >"$cache/clients" 2>"$cache/recorder" &
load=$!
until grep -qs begun "$cache/clients"; do
    kill -0 "$load" 2>/dev/null || failed "recording failed: $(tail -n 5 "$cache/recorder")" "see $cache/recorder"
    sleep 0.2
done
sleep 5
throttled=$(date +%s%N)
set_quota "$quota" "$period"
sleep 5
set_quota max "$period"
waived=$(date +%s%N)
wait "$load" || failed "recording failed: $(tail -n 5 "$cache/recorder")" "see $cache/recorder"
load=
echo "{\"quota_ns\": ${quota}000, \"period_ns\": ${period}000, \"begin_ns\": $throttled, \"end_ns\": $waived}" >"$cache/truth.json"

"$slowpath" diagnose "$recording"
"$slowpath" requests "$recording" --slowest 8
answers_hold "slowpath-cpu-quota"
