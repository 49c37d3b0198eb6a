#!/bin/sh
# Builds what the overhead benchmark compares, into a folder, from HotROD's unchanged source:
#     hotrod           with slowpath's span events (examples/hotrod/build.sh)
#     hotrod-plain     as `go build` makes it
#     hotrod-getpid    with a system call in place of each event (fake_call.go)
# Not the benchmark: slowpath-benches runs this when the folder is empty.     build.sh FOLDER
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
sh "$here/../../examples/hotrod/build.sh" "$1"
cd "$1"
program=github.com/jaegertracing/jaeger/examples/hotrod
go build -mod=mod -o hotrod-plain.new "$program"

rm -rf getpid
cp -R instrumented getpid
rm getpid/sdk/slowpathspans/*.go
cp "$here/fake_call.go" getpid/sdk/slowpathspans/
go mod edit -replace="go.opentelemetry.io/otel/sdk=$PWD/getpid/sdk" getpid/go.mod
go build -mod=mod -modfile getpid/go.mod -o hotrod-getpid.new "$program"

# The last one is the sign that all are there.
mv hotrod-plain.new hotrod-plain
mv hotrod-getpid.new hotrod-getpid
