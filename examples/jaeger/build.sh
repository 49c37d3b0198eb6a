#!/bin/sh
# Builds Jaeger's all-in-one (without its web pages) into a folder: once, some minutes of work on two cores.
#     build.sh FOLDER
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
cp "$here/go.mod" .
# The versions and checksums are those that Jaeger itself was released with.
jaeger=$(go mod download -json "$(awk '$1 == "require" { print $2 "@" $3 }' go.mod)" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
cp "$jaeger/go.sum" go.sum && chmod u+w go.sum
nice go build -mod=mod -p=1 -o jaeger.part github.com/jaegertracing/jaeger/cmd/all-in-one
mv jaeger.part jaeger
