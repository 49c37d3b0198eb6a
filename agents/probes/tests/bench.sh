#!/bin/sh
# What probes cost (cost.c): nanoseconds by processor time, cycles of the clock that the kernel names, instructions by
# callgrind where valgrind is; what the queue carries when it is overloaded. Figures, no verdicts.
set -eu
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export SLOWPATH_PROBES_LTTNG=0
echo "processor: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) online"
build/cost
mhz=$(sed -n 's/^cpu MHz[^:]*: //p' /proc/cpuinfo | head -1)
[ -z "$mhz" ] || echo "1,000 cycles (the paper's FLT_PROBE) are $(awk "BEGIN { printf \"%.0f\", 1e6 / $mhz }") ns at $mhz MHz"

if command -v valgrind >/dev/null 2>&1; then
    # As the difference of two runs that differ in nothing else. Some 30 of them are sched_getcpu: valgrind has no rseq.
    instructions() { # TYPE on|off
        for rounds in 1 11; do
            valgrind --tool=callgrind --callgrind-out-file="$folder/out" build/cost "$1" 1 $rounds "$2" 2>&1 |
                sed -n 's/.*Collected : //p'
        done | paste -s -d ' ' - | awk '{ printf "%.1f", ($2 - $1) / (10 * 2000) }'
    }
    for type in CNT LAT TPT SNAPSHOT FLT; do
        echo "$type: $(instructions $type on) instructions per pair on, $(instructions $type off) off (with the loop)"
    done
else
    echo "SKIPPED: instructions, as valgrind is missing"
fi

echo "the queue alone, eight slots, overloaded for a second:"
build/queue_stress 1 1 1000
build/queue_stress 4 1 1000

python3 tests/cost.py
if [ -f build/Cost.class ]; then
    mkfifo "$folder/steps" "$folder/answers"
    java -cp build/slowpath-probes.jar:build Cost <"$folder/steps" >"$folder/answers" &
    exec 3>"$folder/steps" 4<"$folder/answers"
    read -r java <&4
    for switch in off on; do
        build/slowpath-probes $switch "$java" all
        printf x >&3
        read -r answer <&4
        echo "$answer"
    done
    exec 3>&-
    wait
else
    echo "SKIPPED: Java, as there is no JDK"
fi
