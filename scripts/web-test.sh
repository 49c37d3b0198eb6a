#!/bin/sh
# Tests of the browser application: without a browser, in headless Chromium on a made-up recording, and on
# `slowpath serve` with real traces. What is missing here is skipped, visibly. web.sh has built it before.
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
npm run --silent test:browser

work=$(mktemp -d)
server=
ended() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    rm -rf "$work"
}
trap ended EXIT
trap 'exit 130' INT TERM
for trace in futex-contention cpu-cgroup two-hosts; do
    archive=$traces/$trace/$trace.tar.zst
    if [ ! -f "$archive" ]; then
        skipped "the application on $trace: $archive is not there"
        continue
    fi
    zstd -dcq "$archive" | tar -xf - -C "$work"
    "$slowpath" serve "$work/$trace" --port 0 2>"$work/said" &
    server=$!
    tries=0
    until grep -q 'http://' "$work/said"; do
        tries=$((tries + 1))
        [ "$tries" -lt 100 ] || { cat "$work/said" >&2; exit 1; }
        sleep 0.1
    done
    echo "== the application on $trace"
    SLOWPATH_SERVER=$(sed -n 's#.*\(http://[0-9.:]*\).*#\1#p' "$work/said") npm run --silent test:browser
    kill "$server"
    wait "$server" || true
    server=
done
