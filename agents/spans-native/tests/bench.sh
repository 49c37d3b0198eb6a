#!/bin/sh
# What the library's calls cost, without and with a session that records them (see cost.c).
set -eu
cd "$(dirname "$0")/.."
if [ -z "${OWN_LTTNG+x}" ]; then
    OWN_LTTNG='' exec sh ../own-lttng.sh sh tests/bench.sh
fi
build/cost
[ -n "$OWN_LTTNG" ] || exit 0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
sh tests/recorded.sh "$folder/trace" build/cost
