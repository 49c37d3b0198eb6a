#!/bin/sh
# What probes cost (cost.c): nanoseconds by processor time, cycles of the clock that the kernel names, instructions by
# callgrind where valgrind is; what the queue carries when it is overloaded. Figures, no verdicts.
set -eu
cd "$(dirname "$0")/.."
export SLOWPATH_PROBES_LTTNG=0
echo "processor: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) online"
build/cost
mhz=$(sed -n 's/^cpu MHz[^:]*: //p' /proc/cpuinfo | head -1)
[ -z "$mhz" ] || echo "1,000 cycles (the paper's FLT_PROBE) are $(awk "BEGIN { printf \"%.0f\", 1e6 / $mhz }") ns at $mhz MHz"

if command -v valgrind >/dev/null 2>&1; then
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    instructions() { # TYPE on|off: per pair, as the difference of two runs that differ in nothing else
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
