#!/bin/sh
# What a span costs its thread: in the unchanged program, instrumented, and recorded (see cost/main.go).
. "$(dirname "$0")/../../tests-begin.sh"
export SLOWPATH_SPANS_LIBRARY=$PWD/../spans-native/build/libslowpath_spans.so
for round in 1 2 3; do
    printf 'unchanged:                        '; build/cost-unchanged
    printf 'instrumented, nothing recorded:   '; build/cost-instrumented
    [ -n "$OWN_LTTNG" ] || continue
    printf 'instrumented, recorded:           '
    sh ../spans-native/tests/recorded.sh "$folder/trace$round" build/cost-instrumented
done
