#!/bin/sh
# The demo: records a small order service with slowpath and says where the time of its slowest
# request went. `make demo` calls it with SLOWPATH naming the binary. Where tracing is not permitted
# it explains the recording kept in tests/fixtures/demo-recording instead, and says so.
# Not a test: it compares nothing, it shows what a user would see.
set -eu
cd "$(dirname "$0")/../.."

slowpath=${SLOWPATH:-target/release/slowpath}
build=examples/demo/build
kept=tests/fixtures/demo-recording
# As somebody would call it from here.
called=${slowpath#"$PWD/"}

bold= plain=
if [ -t 1 ]; then bold=$(printf '\033[1m') plain=$(printf '\033[0m'); fi
caption() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }

# show LINES ARGUMENTS…: runs slowpath as the user would; of a longer answer, begin and end.
show() {
    most=$1
    shift
    printf '$ %s %s\n' "$called" "$*"
    "$slowpath" "$@" >"$build/answer"
    lines=$(wc -l <"$build/answer")
    if [ "$lines" -le "$most" ]; then
        cat "$build/answer"
    else
        head -n $((most / 2)) "$build/answer"
        printf '  … %s lines left out here …\n' $((lines - most / 2 * 2))
        tail -n $((most / 2)) "$build/answer"
    fi
}

# The first value of a key in a file of JSON.
value() { sed -n "s/.*\"$1\": *\"\{0,1\}\([^\",}]*\).*/\1/p" "$2" | head -n 1; }

mkdir -p "$build/data"
recording=demo-recording
truth=$build/orders.jsonl

# A recording of somebody's own in this place is not ours to remove.
if [ -e "$recording" ] && [ ! -e "$recording/slowpath.json" ] && [ -n "$(ls -A "$recording")" ]; then
    echo "demo: $recording exists and is no recording; it is left alone." >&2
    echo "hint: move it away, then run this again." >&2
    exit 1
fi
rm -rf "$recording"

caption "1. Record a small order service for five seconds."
printf '$ %s record -o %s -- %s/orders …\n' "$called" "$recording" "$build"
if sh examples/demo/build.sh &&
    "$slowpath" record -o "$recording" -- "$build/orders" "$truth" "$build/data" &&
    [ "$(value tracer "$recording/slowpath.json")" != none ]; then
    :
else
    caption "Kernel events cannot be recorded here (see above): explaining a recording kept in $kept."
    rm -rf "$recording" "$build/data"
    mkdir -p "$recording"
    tar -xzf "$kept/recording.tar.gz" --strip-components=1 -C "$recording"
    cp "$kept/orders.jsonl" "$truth"
fi
rm -rf "$build/data"

caption "2. What was recorded."
show 40 info "$recording"

caption "3. Who used the processors."
show 24 cpu "$recording" --top 10

caption "4. Who moved bytes, and in which files."
show 36 io "$recording" --top 8

number=5
if [ -d "$recording/spans" ]; then
    caption "5. Which requests were slow."
    show 40 requests "$recording" --slowest 8
    caption "6. What makes slow requests slow."
    show 40 diagnose "$recording"
    number=7
fi

grep '"type":"slowest"' "$truth" >"$build/slowest"
tid=$(value tid "$build/slowest")
comm=$(value comm "$build/slowest")
offset_ns=$(value offset_to_epoch_ns "$recording/slowpath.json")
begin_ns=$(($(value start_ns "$build/slowest") + offset_ns))
end_ns=$(($(value end_ns "$build/slowest") + offset_ns))

caption "$number. Why the slowest request, one of $comm, took so long."
show 40 critical-path "$recording" --tid "$tid" --begin "$begin_ns" --end "$end_ns"

caption "The program's own record, to hold this against, is in $truth."

# A terminal has somebody who can end the server; the browser opens where there is one.
caption "$((number + 1)). The same in the browser."
if [ -t 1 ] && [ -t 0 ]; then
    [ -z "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ] || open=--open
    printf '$ %s serve %s\n' "$called" "$recording"
    exec "$slowpath" serve "$recording" ${open:-}
fi
printf '$ %s serve %s     # then open http://localhost:7447/\n' "$called" "$recording"
