#!/bin/sh
# Everything about probes: the queue's algorithm in every interleaving, by threads and by processes that are killed; each probe
# from C, C++, Python and Java; the command; the golden memory; and probes recorded by LTTng. Says what it must skip.
. "$(dirname "$0")/../../tests-begin.sh"
probes=build/slowpath-probes

echo "the queue, in every interleaving of its steps:"
build/queue_check 0 1 2 1,1
build/queue_check 1 0 2 2,2
build/queue_check 1 1 2 1,1,1
build/queue_check 1 1 1,1 2,1
build/queue_check 0 2 1,1 1,1
for mutant in 1 2 3 4; do
    if build/queue_check_mutant$mutant 1 0 2 2,1 >"$folder/said"; then
        failed "the checker does not see mutant $mutant of the algorithm: $(cat "$folder/said")"
    fi
done
echo "four broken ones: all seen"

build/queue_stress 4 2 1000
build/queue_stress 1 3 300
if [ -x build/queue_stress_tsan ]; then
    build/queue_stress_tsan 3 2 1500 >"$folder/said" 2>&1 || failed "$(cat "$folder/said")"
    echo "ThreadSanitizer: $(tail -1 "$folder/said")"
else
    echo "SKIPPED: ThreadSanitizer, as this compiler has none"
fi
build/queue_kill 4

build/test_probes_c
SLOWPATH_PROBES=all build/unloaded build/plugin.so
if [ -x build/test_probes_cpp ]; then build/test_probes_cpp; else echo "SKIPPED: probes in C++, as there is no C++ compiler"; fi
python3 -W error tests/test_probes.py 2>"$folder/said" || failed "$(cat "$folder/said")"
echo "probes in Python: $(sed -n 's/^Ran \([0-9]*\) tests.*/\1 passed, 0 failed/p' "$folder/said")"

# The golden memory: made anew it is the same, and a reader finds in it what it should.
build/golden "$folder/golden"
cmp "$folder/golden" tests/golden/memory-v1.bin || failed "the golden memory is not what the source makes"
{ $probes count "$folder/golden" --json && $probes read "$folder/golden" --json --count 5 2>/dev/null; } >"$folder/found"
diff "$folder/found" tests/golden/memory-v1.jsonl || failed "a reader finds (<) other things in the golden memory than it should (>)"
python3 tests/test_format.py
echo "golden memory: 1 passed, 0 failed"

# Damage is told, and never followed: one number of the header after the other is another one.
cp tests/golden/memory-v1.bin "$folder/damaged"
for at in 8 16 28 32 36 40 44 48 56 64 72 80; do
    cp tests/golden/memory-v1.bin "$folder/damaged"
    printf '\377\377\377\177' | dd of="$folder/damaged" bs=1 seek="$at" conv=notrunc 2>/dev/null
    status=0
    $probes read "$folder/damaged" --count 5 >"$folder/said" 2>&1 || status=$?
    [ "$status" -eq 1 ] || failed "damage at byte $at of the header gave status $status: $(cat "$folder/said")"
    grep -q '^hint: ' "$folder/said" || failed "an error without a hint: $(cat "$folder/said")"
done
head -c 5000 tests/golden/memory-v1.bin >"$folder/damaged"
! $probes read "$folder/damaged" 2>/dev/null || failed "a file cut short was read"
echo "damaged memory: 13 passed, 0 failed"

# The command, and a file that outlives its process.
mkdir "$folder/files"
SLOWPATH_PROBES=LAT,SNAPSHOT SLOWPATH_PROBES_DIR="$folder/files" SLOWPATH_PROBES_SLOTS=64 build/recorded >/dev/null
file=$(echo "$folder"/files/slowpath-probes.*)
$probes read "$file" --json >"$folder/found" 2>"$folder/said" # ends by itself, as the process has ended
grep -q '"type":"LAT","probe":2,"name":"2","values":{"duration_ns":[0-9]*}}$' "$folder/found" || failed "$(cat "$folder/found")"
grep -q '"type":"SNAPSHOT","probe":6,"name":"6","values":\[42,43\]}$' "$folder/found" || failed "$(cat "$folder/found")"
[ "$(wc -l <"$folder/found")" -eq 2 ] || failed "other records than those switched on: $(cat "$folder/found")"
grep -qx '2 records; since the process began, 0 were lost, 0 refused' "$folder/said" || failed "$(cat "$folder/said")"
SLOWPATH_PROBES=nonsense build/recorded 2>"$folder/said" >/dev/null || failed "a wrong variable stops the program"
grep -q '^hint: ' "$folder/said" || failed "a wrong variable is not told"
SLOWPATH_PROBES=all SLOWPATH_PROBES_DIR=/nowhere build/recorded >/dev/null 2>"$folder/said"
[ ! -s "$folder/said" ] || failed "a folder that is not there is told without being asked: $(cat "$folder/said")"

# One whose memory is a file is found by its number and its name, too, while it runs.
mkfifo "$folder/go"
SLOWPATH_PROBES_DIR="$folder/files" build/recorded wait <"$folder/go" >"$folder/answer" &
recorded=$!
exec 3>"$folder/go"
for _ in $(seq 100); do ! grep -q ready "$folder/answer" || break; sleep 0.05; done
$probes list | grep -q "^ *$recorded recorded " || failed "the list lacks a process whose memory is a file: $($probes list 2>&1)"
$probes on $recorded SNAPSHOT >"$folder/said" 2>&1 || failed "by its number it is not found: $(cat "$folder/said")"
exec 3>&-
wait $recorded
$probes count "$folder/files/slowpath-probes.$recorded" | grep -q '^stored 1, ' || failed "its probe was not switched on"
for wrong in "on 1 all" "read no-such-program" "list 999999999" "every 0 1 all"; do
    # shellcheck disable=SC2086
    if $probes $wrong >/dev/null 2>"$folder/said"; then failed "slowpath-probes $wrong succeeded"; fi
    grep -q '^hint: ' "$folder/said" || failed "slowpath-probes $wrong: no hint: $(cat "$folder/said")"
done
echo "command: 5 passed, 0 failed"

if [ -f build/slowpath-probes.jar ]; then
    mkfifo "$folder/steps" "$folder/answers"
    java -cp build/slowpath-probes.jar:build ProbesTest <"$folder/steps" >"$folder/answers" &
    java=$!
    exec 3>"$folder/steps" 4<"$folder/answers"
    read -r counters <&4
    [ "${counters##* }" = -22 ] || failed "Java: no EINVAL for a counter that there is not: $counters"
    step() { echo >&3; read -r answer <&4; [ "$answer" = "$1" ] || failed "Java says $answer instead of $1"; }
    step "on false false"
    [ "$($probes count $java --json | sed 's/.*"stored":\([0-9]*\).*/\1/')" -eq 0 ] || failed "Java: records while all is off"
    $probes on $java all
    step "on true true"
    $probes read $java --json --count 103 >"$folder/found" 2>/dev/null
    for expected in '"type":"LAT","probe":7,"name":"query","values":{"duration_ns":[1-9][0-9]*}' \
        '"type":"CNT","probe":8,"name":"many","values":{"executions":1000,"all_executions":100000}' \
        '"type":"FLT","probe":9' '"type":"SNAPSHOT","probe":10,"name":"depths","values":\[1,18446744073709551615,9223372036854775807\]'; do
        grep -q "$expected" "$folder/found" || failed "Java: no record like $expected: $(cat "$folder/found")"
    done
    $probes off $java all
    step "on false false"
    exec 3>&-
    wait $java || failed "the Java program failed"
    echo "probes in Java: 1 passed, 0 failed"
else
    echo "SKIPPED: probes in Java, as there is no JDK"
fi

# With LTTng: on the same time line as all that is recorded beside it.
if [ -n "$OWN_LTTNG" ] && [ -f build/libslowpath_probes_lttng.so ]; then
    quiet() { "$@" >/dev/null; }
    quiet lttng create probes --output="$folder/trace"
    quiet lttng enable-event --userspace 'slowpath_probe:*'
    quiet lttng start
    before=$(python3 -c 'import time; print(time.time_ns())')
    SLOWPATH_PROBES=all build/recorded >/dev/null
    build/recorded >/dev/null # off: tells nothing
    after=$(python3 -c 'import time; print(time.time_ns())')
    SLOWPATH_PROBES=all SLOWPATH_PROBES_LTTNG=0 build/recorded >/dev/null # LTTng forbidden
    quiet lttng destroy probes
    babeltrace2 --clock-seconds "$folder/trace" >"$folder/seen"
    sed -n 's/.* slowpath_probe:\([a-z]*\): .*probe = \([0-9]*\), name.*/\1 \2/p' "$folder/seen" >"$folder/events"
    printf '%s\n' 'ctxsw 5' 'flt 4' 'tpt 3' 'lat 2' 'cnt 1' 'snapshot 6' | diff - "$folder/events" ||
        failed "the trace (>) has other events than the program's probes (<)"
    duration=$(sed -n 's/.*slowpath_probe:lat: .*duration_ns = \([0-9]*\) .*/\1/p' "$folder/seen")
    [ "$duration" -ge 1999000 ] && [ "$duration" -le $((after - before)) ] || failed "a latency of $duration ns"
    grep -q 'values = \[ \[0\] = 42, \[1\] = 43 \]' "$folder/seen" || failed "$(cat "$folder/seen")"
    echo "probes in a recording: 1 passed, 0 failed"
else
    echo "SKIPPED: probes in a recording, as LTTng or liblttng-ust-dev is missing"
fi
