#!/bin/sh
# SQLite explored over page size, cache memory and threads, in shared-cache mode; check.py then holds what was found
# against what must be so whatever the machine. Not a benchmark of SQLite.
#     run.sh [small|full [ARGUMENT...]]     arguments go to `slowpath explore`, SLOWPATH names the binary.
example=explore-sqlite
. "$(dirname "$0")/../begin.sh"
size=${1:-small}
[ $# -eq 0 ] || shift
case $size in
small) rows=300000 ;;
full) rows=5000000 ;;
*) failed "there is no size $size" "small or full" ;;
esac
for program in cc python3; do
    command -v "$program" >/dev/null || failed "there is no $program" "make setup"
done
cc -O2 -Wall -Wextra -pthread -o "$cache/query" "examples/$example/query.c" -lsqlite3 ||
    failed "the workload could not be built" "make setup; it needs libsqlite3-dev"
for page_size in 1024 4096 65536; do
    data=$cache/trips-$rows-$page_size.db
    [ -f "$data" ] && continue
    echo "$example: making $rows rows in pages of $page_size bytes" >&2
    rm -f "$data.new"
    "$cache/query" make "$data.new" "$rows" "$page_size"
    mv "$data.new" "$data"
done
"$slowpath" explore "examples/$example/$size.toml" -o "$cache/$size" --overwrite "$@"
"$slowpath" explore "examples/$example/$size.toml" -o "$cache/$size" --results json >"$cache/results.json"
python3 "examples/$example/check.py" "$cache/results.json"
