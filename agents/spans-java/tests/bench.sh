#!/bin/sh
# What a span costs its thread under the OpenTelemetry agent: without the extension, with it, and recorded.
. "$(dirname "$0")/../../tests-begin.sh"
export STOP_AT_LEVEL=4
. tests/java.sh
extension=-Dotel.javaagent.extensions=target/slowpath-spans.jar
for round in 1 2 3; do
    printf 'without the extension:       '; java_with_agent slowpath.spans.Cost 2>/dev/null
    printf 'with it, nothing recorded:   '; java_with_agent $extension slowpath.spans.Cost 2>/dev/null
    [ -n "$OWN_LTTNG" ] || continue
    printf 'with it, recorded:           '
    sh ../spans-native/tests/recorded.sh "$folder/trace$round" sh -c ". tests/java.sh; java_with_agent $extension slowpath.spans.Cost" 2>/dev/null
done
