#!/bin/sh
# Both ways to get span events from a Go program (see README.md): what the program did on each thread is
# what the trace says of it; and where events cannot be had, it does its work all the same.
. "$(dirname "$0")/../../tests-begin.sh"

by_thread() { LC_ALL=C sort --stable --key=5,5n "$1"; }
passed=0

# works_without_events PROGRAM CAUSE
works_without_events() {
    "$1" >"$folder/done" 2>"$folder/said" || failed "$1: $(cat "$folder/said")"
    [ "$(wc -l <"$folder/done")" -eq 800 ] || failed "$1 did not do its work"
    [ "$(wc -l <"$folder/said")" -eq 1 ] || failed "$1: one line was expected on stderr: $(cat "$folder/said")"
    grep -q "^slowpath: no span events.*$2.*hint" "$folder/said" || failed "$1 says another cause than '$2': $(cat "$folder/said")"
    passed=$((passed + 1))
}

export SLOWPATH_SPANS_LIBRARY=/nowhere/libslowpath_spans.so
works_without_events build/handoffs-instrumented "cannot open"
works_without_events build/handoffs-registered "cannot open"
works_without_events build/handoffs-without-cgo "without cgo"
[ -n "$OWN_LTTNG" ] || { echo "$passed passed, 0 failed, 2 skipped"; exit 0; }

SLOWPATH_SPANS_LIBRARY=$PWD/../spans-native/build/libslowpath_spans.so
for program in build/handoffs-instrumented build/handoffs-registered; do
    trace=$folder/$(basename "$program")
    sh ../spans-native/tests/recorded.sh "$trace" "$program" >"$folder/done" 2>"$folder/said" || failed "$(cat "$folder/said")"
    [ ! -s "$folder/said" ] || failed "$program: nothing was expected on stderr: $(cat "$folder/said")"
    sh ../spans-native/tests/seen.sh "$trace" >"$folder/seen"
    by_thread "$folder/done" >"$folder/done-by-thread"
    by_thread "$folder/seen" >"$folder/seen-by-thread"
    diff "$folder/done-by-thread" "$folder/seen-by-thread" >"$folder/differences" ||
        failed "$program: the trace (>) is not what the program did (<): $(head -n 20 "$folder/differences")"
    [ "$(wc -l <"$folder/seen")" -eq 800 ] || failed "800 events were expected"
    [ "$(cut -d' ' -f5 "$folder/seen" | sort -u | wc -l)" -eq 6 ] || failed "six threads were expected"
    passed=$((passed + 1))
done
echo "$passed passed, 0 failed"
