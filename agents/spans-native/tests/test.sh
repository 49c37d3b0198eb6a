#!/bin/sh
# The library under test by a real LTTng session: what two_threads did is what the trace says, in
# order, with ids and threads; and without a session it does nothing, harmlessly.
. "$(dirname "$0")/../../tests-begin.sh"


build/two_threads 2>"$folder/said" >/dev/null || failed "$(cat "$folder/said")"
grep -qx 'recording: no' "$folder/said" || failed "a program without a session claims to be recorded"
[ -n "$OWN_LTTNG" ] || { echo "1 passed, 0 failed, 1 skipped"; exit 0; }

sh tests/recorded.sh "$folder/trace" build/two_threads >"$folder/expected" 2>"$folder/said"
grep -qx 'recording: yes' "$folder/said" || failed "a recorded program does not see that it is: $(cat "$folder/said")"
sh tests/seen.sh "$folder/trace" >"$folder/seen"
diff "$folder/expected" "$folder/seen" || failed "the trace (>) is not what the program did (<)"
[ "$(wc -l <"$folder/seen")" -eq 4 ] || failed "four events were expected"
echo "2 passed, 0 failed"
