#!/bin/sh
# A stock PostgreSQL explored over four of its settings under pgbench, in about five minutes; check.py then holds what was
# found against what must be so whatever the machine. Not a benchmark of PostgreSQL.
#     run.sh [ARGUMENT...]     arguments go to `slowpath explore`, SLOWPATH names the binary.
example=explore-postgres
. "$(dirname "$0")/../begin.sh"
data=/var/tmp/slowpath-$example
for program in pgbench psql pg_isready setpriv python3; do
    command -v "$program" >/dev/null || failed "there is no $program" "make setup; apt-get install postgresql"
done
[ ! -e "$data" ] || [ -f "$data/PG_VERSION" ] || failed "$data is not PostgreSQL's data" "move it away"

as_server() {
    program=$1
    shift
    PROGRAM=$program sh "examples/$example/server.sh" "$@"
}
# The data lie where the user `postgres` may go: a checkout may lie in a folder of root's. Removed at the end.
rm -rf "$data"
if [ "$(id -u)" -eq 0 ]; then install -d -m 700 -o postgres -g postgres "$data"; fi
trap 'rm -rf "$data"' EXIT
trap 'exit 130' INT TERM
echo "$example: making a database of 1,000,000 accounts" >&2
as_server initdb -U postgres -A trust >"$cache/said" 2>&1 || failed "initdb failed" "see $cache/said"
cat >>"$data/postgresql.conf" <<END
listen_addresses = '127.0.0.1'
port = 7395
unix_socket_directories = ''
autovacuum = off
END
as_server pg_ctl -w -l "$data/log" start >>"$cache/said" 2>&1 || failed "PostgreSQL did not start" "see $cache/said"
pgbench -h 127.0.0.1 -p 7395 -U postgres -i -q -s 10 postgres >>"$cache/said" 2>&1 ||
    failed "pgbench could not make its tables" "see $cache/said"
as_server pg_ctl -w stop >>"$cache/said" 2>&1

"$slowpath" explore "examples/$example/postgres.toml" -o "$cache/exploration" --overwrite "$@"
"$slowpath" explore "examples/$example/postgres.toml" -o "$cache/exploration" --results json >"$cache/results.json"
python3 "examples/$example/check.py" "$cache/results.json"
