#!/bin/sh
# Builds the demo's workload, `orders`, into examples/demo/build (or the folder given).
# A C compiler is all it needs; run.sh and the fixture's rebuild script call it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
into=${1:-$here/build}
mkdir -p "$into"
"${CC:-cc}" -std=gnu11 -O2 -Wall -Wextra -o "$into/orders" "$here/orders.c" "$here/record.c" "$here/spans.c" -pthread
