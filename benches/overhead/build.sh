#!/bin/sh
# Builds what the overhead benchmark compares, into a folder, from HotROD's unchanged source:
#     hotrod           with slowpath's span events (examples/hotrod/build.sh)
#     hotrod-plain     as `go build` makes it
#     hotrod-getpid    with a system call in place of each event (fake_call.go)
# and the same three without HotROD's pretended delays (undelayed.go) into FOLDER/undelayed.
# Not the benchmark: slowpath-benches runs this when the folder is empty.     build.sh FOLDER
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
sh "$here/../../examples/hotrod/build.sh" "$1"
cd "$1"
rm -rf getpid
cp -R instrumented getpid
rm getpid/sdk/slowpathspans/*.go
cp "$here/fake_call.go" getpid/sdk/slowpathspans/
go mod edit -replace="go.opentelemetry.io/otel/sdk=$PWD/getpid/sdk" getpid/go.mod

mkdir -p undelayed
cp "$here/undelayed.go" undelayed/main.go
program=github.com/jaegertracing/jaeger/examples/hotrod
go build -mod=mod -o hotrod-plain "$program"
go build -mod=mod -o undelayed/hotrod-plain ./undelayed
go build -mod=mod -modfile instrumented/go.mod -o undelayed/hotrod ./undelayed
go build -mod=mod -modfile getpid/go.mod -o hotrod-getpid "$program"
# The last one is the sign that all are there.
go build -mod=mod -modfile getpid/go.mod -o undelayed/new ./undelayed
mv undelayed/new undelayed/hotrod-getpid
