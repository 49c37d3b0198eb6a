#!/bin/sh
# There and back: what `slowpath export --to otlp` sends to a real Jaeger is asked back from it, and must have
# every state of every request in its place (compare.py). `make test-jaeger` calls it; it is not part of
# `make test`, as it builds Jaeger at first.
#     run.sh [RECORDING]     by default the one of tests/fixtures/quiet-recording.  SLOWPATH names the binary.
example=jaeger
given=${1:+$(realpath "$1")}
. "$(dirname "$0")/../begin.sh"
command -v go >/dev/null 2>&1 || failed "Go is missing" "install Go 1.24 or later"
if [ ! -x "$cache/jaeger" ]; then
    echo "jaeger: building Jaeger, for some minutes" >&2
    sh examples/jaeger/build.sh "$cache" || failed "Jaeger could not be built" "see above; is the Go module proxy within reach?"
fi
if [ -z "$given" ]; then
    rm -rf "$cache/quiet-recording"
    tar -xzf tests/fixtures/quiet-recording/recording.tar.gz -C "$cache"
    given=$cache/quiet-recording
fi

# A queue for large recordings, as Jaeger drops what it has no room for. Ports that nobody else is likely to have; everything on loopback.
otlp=127.0.0.1:28318
query=127.0.0.1:28686
"$cache/jaeger" --collector.queue-size=100000 --collector.otlp.enabled --collector.otlp.http.host-port="$otlp" --query.http-server.host-port="$query" \
    --collector.otlp.grpc.host-port=127.0.0.1:28317 --query.grpc-server.host-port=127.0.0.1:28685 \
    --admin.http.host-port=127.0.0.1:28269 --collector.grpc-server.host-port=127.0.0.1:28250 \
    --collector.http-server.host-port=127.0.0.1:28268 --http-server.host-port=127.0.0.1:28778 \
    --processor.jaeger-binary.server-host-port=127.0.0.1:28832 --processor.jaeger-compact.server-host-port=127.0.0.1:28831 \
    --processor.zipkin-compact.server-host-port=127.0.0.1:28775 >"$cache/said" 2>&1 &
jaeger=$!
trap 'kill "$jaeger" 2>/dev/null || true' EXIT
trap 'exit 130' INT TERM

# Jaeger gets the requests' spans as their service sent them, then what slowpath adds.
python3 examples/jaeger/compare.py send "$given/spans" "http://$otlp" || failed "Jaeger takes no spans" "see $cache/said"
"$slowpath" export "$given" --to otlp --send "http://$otlp"
"$slowpath" export "$given" --to otlp --output "$cache/added.jsonl"
python3 examples/jaeger/compare.py compare "$cache/added.jsonl" "http://$query"
