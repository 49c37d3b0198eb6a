#!/bin/sh
# Prints the span events of a recorded trace, in order of time, as the tests' programs print what
# they do: "event trace_id_high trace_id_low span_id vtid", ids in hexadecimal without leading zeros.
# For tests of all span agents.   seen.sh FOLDER
set -eu
babeltrace2 "$1" | sed -n 's/.* slowpath_span:\([a-z_]*\): .*vtid = \([0-9]*\).* trace_id_high = 0x\([0-9A-F]*\), trace_id_low = 0x\([0-9A-F]*\), span_id = 0x\([0-9A-F]*\) .*/\1 \3 \4 \5 \2/p' |
    tr 'A-F' 'a-f'
