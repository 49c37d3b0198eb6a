#!/bin/sh
# Builds Jaeger's all-in-one (without its web pages) into a folder: once, some minutes of work on two cores.
#     build.sh FOLDER
set -eu
. "$(dirname "$0")/../jaeger-module.sh"
nice go build -mod=mod -p=1 -o jaeger.part github.com/jaegertracing/jaeger/cmd/all-in-one
mv jaeger.part jaeger
