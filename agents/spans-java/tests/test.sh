#!/bin/sh
# The extension in a real Java program under the OpenTelemetry agent: what the program (HandOffs) did on
# each thread is what the trace says of it, and a machine without LTTng does it no harm.
. "$(dirname "$0")/../../tests-begin.sh"

. tests/java.sh

without_extension() { java_with_agent slowpath.spans.HandOffs; }
with_extension() { java_with_agent -Dotel.javaagent.extensions=target/slowpath-spans.jar "$@" slowpath.spans.HandOffs; }
ours() { grep '^slowpath:' "$1" || true; }

# 1. A library that cannot be loaded: one line, and the program does all its work.
SLOWPATH_SPANS_LIBRARY=/nowhere/libslowpath_spans.so with_extension >"$folder/done" 2>"$folder/said" || failed "$(cat "$folder/said")"
[ "$(ours "$folder/said" | wc -l)" -eq 1 ] || failed "one line was expected on stderr: $(cat "$folder/said")"
[ "$(wc -l <"$folder/done")" -eq 2400 ] || failed "the program did not do its work"
[ -n "$OWN_LTTNG" ] || { echo "1 passed, 0 failed, 3 skipped"; exit 0; }

# 2. The same where liblttng-ust is missing (hidden by an empty file that only this test sees).
lttng_ust=$(ldconfig -p | sed -n 's/.*liblttng-ust\.so\.1 .*=> //p' | head -n 1)
(
    export folder
    unshare --mount sh -euc '. tests/java.sh; mount --bind /dev/null "$1"
        java_with_agent -Dotel.javaagent.extensions=target/slowpath-spans.jar slowpath.spans.HandOffs' - "$(realpath "$lttng_ust")"
) >"$folder/done" 2>"$folder/said" || failed "$(cat "$folder/said")"
[ "$(ours "$folder/said" | wc -l)" -eq 1 ] || failed "one line was expected on stderr: $(cat "$folder/said")"
[ "$(wc -l <"$folder/done")" -eq 2400 ] || failed "the program did not do its work"

# 3. Recorded, with the libraries that the jar carries: each thread's events, in order.
by_thread() { LC_ALL=C sort --stable --key=5,5n "$1"; }
sh ../spans-native/tests/recorded.sh "$folder/trace" sh -euc '. tests/java.sh
    java_with_agent -Dotel.javaagent.extensions=target/slowpath-spans.jar slowpath.spans.HandOffs' >"$folder/done" 2>"$folder/said" ||
    failed "$(cat "$folder/said")"
[ -z "$(ours "$folder/said")" ] || failed "nothing was expected on stderr: $(cat "$folder/said")"
sh ../spans-native/tests/seen.sh "$folder/trace" >"$folder/seen"
by_thread "$folder/done" >"$folder/done-by-thread"
by_thread "$folder/seen" >"$folder/seen-by-thread"
diff "$folder/done-by-thread" "$folder/seen-by-thread" >"$folder/differences" ||
    failed "the trace (>) is not what the program did (<): $(head -n 20 "$folder/differences")"
[ "$(cut -d' ' -f5 "$folder/seen" | sort -u | wc -l)" -eq 6 ] || failed "six threads were expected"

# 4. Virtual threads: nothing is attached to the threads below them, and to others as ever.
JAVA=$(java_with_virtual_threads)
[ -n "$JAVA" ] || { echo "SKIPPED: virtual threads, as no Java 21 or later is installed"; echo "3 passed, 0 failed, 1 skipped"; exit 0; }
export JAVA
sh ../spans-native/tests/recorded.sh "$folder/trace-virtual" sh -euc '. tests/java.sh
    java_with_agent -Dotel.javaagent.extensions=target/slowpath-spans.jar slowpath.spans.Virtual' >"$folder/done" 2>"$folder/said" ||
    failed "$(cat "$folder/said")"
[ -z "$(ours "$folder/said")" ] || failed "nothing was expected on stderr: $(cat "$folder/said")"
sh ../spans-native/tests/seen.sh "$folder/trace-virtual" | sort >"$folder/seen"
sort "$folder/done" >"$folder/done-sorted"
diff "$folder/done-sorted" "$folder/seen" >"$folder/differences" ||
    failed "the trace (>) is not what the program did (<): $(head -n 20 "$folder/differences")"
[ "$(wc -l <"$folder/seen")" -eq 200 ] || failed "80 requests with two events and 10 with four were expected"
echo "4 passed, 0 failed"
