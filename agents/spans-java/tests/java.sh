# Sourced by test.sh and bench.sh: runs a class of the tests under the OpenTelemetry agent, which exports
# nothing.   java_with_agent [OPTIONS…] CLASS
java_with_agent() {
    OTEL_TRACES_EXPORTER=none OTEL_METRICS_EXPORTER=none OTEL_LOGS_EXPORTER=none \
        java -Xshare:auto -XX:TieredStopAtLevel="${STOP_AT_LEVEL:-1}" -javaagent:target/for-tests/opentelemetry-javaagent.jar \
        -cp "target/test-classes:$(printf '%s:' target/for-tests/opentelemetry-api.jar target/for-tests/opentelemetry-context.jar target/for-tests/opentelemetry-common.jar)" "$@"
}
