#!/bin/sh
# Builds HotROD with span events, and the load generator, into a folder: once, about a minute of work.
#     build.sh FOLDER
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
cp "$here/go.mod" .
# The versions and checksums are those that Jaeger itself was released with.
jaeger=$(go mod download -json "$(awk '$1 == "require" { print $2 "@" $3 }' go.mod)" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
cp "$jaeger/go.sum" go.sum && chmod u+w go.sum
mkdir -p wrapper && cp "$here/wrapper.go" wrapper/
go mod tidy
sh "$here/../../agents/spans-go/instrument.sh" instrumented
go build -mod=mod -modfile instrumented/go.mod -o hotrod github.com/jaegertracing/jaeger/examples/hotrod
go build -o load "$here/load.go"
