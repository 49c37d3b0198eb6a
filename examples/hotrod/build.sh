#!/bin/sh
# Builds HotROD with span events, and the load generator, into a folder: once, about a minute of work.
#     build.sh FOLDER
set -eu
. "$(dirname "$0")/../jaeger-module.sh"
mkdir -p wrapper && cp "$here/wrapper.go" wrapper/
go mod tidy
sh "$here/../../agents/spans-go/instrument.sh" instrumented
go build -mod=mod -modfile instrumented/go.mod -o hotrod github.com/jaegertracing/jaeger/examples/hotrod
go build -o load "$here/load.go"
