#!/bin/sh
# What the library's calls cost, without and with a session that records them (see cost.c).
. "$(dirname "$0")/../../tests-begin.sh"
build/cost
[ -n "$OWN_LTTNG" ] || exit 0
sh tests/recorded.sh "$folder/trace" build/cost
