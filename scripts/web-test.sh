#!/bin/sh
# Tests of the browser application: without a browser, in headless Chromium on a made-up recording, and on
# `slowpath serve` with real traces, a report of transfers, a recording and an exploration that are made here. What is missing here
# is skipped, visibly. web.sh has built it before.
#     web-test.sh SLOWPATH
set -eu
slowpath=$(readlink -f "$1")
cd "$(dirname "$0")/../web"
traces=${SLOWPATH_TRACES:-../../shared/traces}

skipped() { echo "SKIPPED: $1" >&2; }
if [ ! -e dist/index.html ]; then
    skipped "tests of the browser application, which is not built here"
    exit 0
fi
npm run --silent lint
npm test --silent
if [ ! -x "${CHROMIUM:-/usr/bin/chromium}" ]; then
    skipped "tests in a browser: there is no Chromium; CHROMIUM names one"
    exit 0
fi

work=$(mktemp -d)
servers=
ended() {
    for server in $servers; do kill "$server" 2>/dev/null || true; done
    rm -rf "$work"
}
trap ended EXIT
trap 'exit 130' INT TERM

# Serves a recording of $work. All are served from the start: they compute while others are looked at.
serve() {
    "$slowpath" serve "$work/$1" --port 0 2>"$work/$1.said" &
    servers="$servers $!"
}

recordings=
mkdir "$work/data"
if ! sh ../examples/demo/build.sh "$work" ||
    ! "$slowpath" record -o "$work/recorded" -- "$work/orders" "$work/truth" "$work/data" >"$work/record.said" 2>&1; then
    skipped "the application on a recording made here: $(tail -n 1 "$work/record.said" 2>/dev/null)"
elif grep -q '"tracer": *"none"' "$work/recorded/slowpath.json"; then
    skipped "the application on a recording made here: kernel events cannot be recorded"
else
    recordings=recorded
    serve recorded
fi
for trace in futex-contention cpu-cgroup two-hosts; do
    archive=$traces/$trace/$trace.tar.zst
    if [ ! -f "$archive" ]; then
        skipped "the application on $trace: $archive is not there"
        continue
    fi
    zstd -dcq "$archive" | tar -xf - -C "$work"
    recordings="$recordings $trace"
    serve "$trace"
done

# It has no kernel and no time of its own, so that only its own view is looked at.
cp -r ../tests/fixtures/transfers-on-services "$work/transfers"
serve transfers

# Of a known function, looked at while it goes on.
explore() {
    cat >"$work/known.toml" <<'SPEC'
[parameters.a]
type = "integer"
min = 1
max = 4
[parameters.b]
type = "integer"
min = 1
max = 3
[workload]
command = '''sleep 0.2; awk 'BEGIN { print "cost", 10 + 5 * ({{a}} - 3) ^ 2 + {{b}} }' '''
[metrics.cost]
regex = 'cost ([0-9.]+)'
[[objectives]]
minimise = "cost"
[trials]
per_configuration = 2
SPEC
    "$slowpath" explore "$work/known.toml" -o "$work/explored" --no-reasons >"$work/explore.said" 2>&1 &
    servers="$servers $!"
    tries=0
    until [ -e "$work/explored/exploration.sqlite" ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 100 ] || { cat "$work/explore.said" >&2; exit 1; }
        sleep 0.1
    done
    serve explored
}

npm run --silent test:browser
for recording in $recordings transfers explored; do
    [ "$recording" != explored ] || explore
    tries=0
    until grep -q 'http://' "$work/$recording.said"; do
        tries=$((tries + 1))
        [ "$tries" -lt 100 ] || { cat "$work/$recording.said" >&2; exit 1; }
        sleep 0.1
    done
    case $recording in
        transfers) tests=test:transfers ;;
        explored) tests=test:exploration ;;
        *) tests=test:browser ;;
    esac
    echo "== the application on $recording"
    SLOWPATH_SERVER=$(sed -n 's#.*\(http://[0-9.:]*\).*#\1#p' "$work/$recording.said") npm run --silent "$tests"
done
