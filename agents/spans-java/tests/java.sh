# Sourced by test.sh and bench.sh: runs a class of the tests under the OpenTelemetry agent, which exports
# nothing; in another Java than the usual one, where JAVA names it.   java_with_agent [OPTIONS…] CLASS
java_with_agent() {
    OTEL_TRACES_EXPORTER=none OTEL_METRICS_EXPORTER=none OTEL_LOGS_EXPORTER=none \
        "${JAVA:-java}" -Xshare:auto -XX:TieredStopAtLevel="${STOP_AT_LEVEL:-1}" -javaagent:target/for-tests/opentelemetry-javaagent.jar \
        -cp "target/test-classes:$(printf '%s:' target/for-tests/opentelemetry-api.jar target/for-tests/opentelemetry-context.jar target/for-tests/opentelemetry-common.jar)" "$@"
}

# Prints a Java that has virtual threads, where one is installed.
java_with_virtual_threads() {
    for java in "$(command -v java)" /usr/lib/jvm/*/bin/java; do
        [ -x "$java" ] || continue
        version=$("$java" -XshowSettings:properties -version 2>&1 | sed -n 's/^ *java\.specification\.version = \([0-9]*\)$/\1/p')
        [ "${version:-0}" -lt 21 ] || { echo "$java"; return; }
    done
}
