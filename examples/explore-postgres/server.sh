# Starts PostgreSQL on the data that run.sh made, with the arguments given; as the user `postgres` where this is root, as
# it refuses to be root. Execs, so that a signal reaches the server. Not a script by itself.
data=/var/tmp/slowpath-explore-postgres
server=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
[ "$(id -u)" -ne 0 ] || as_postgres="setpriv --reuid=postgres --regid=postgres --init-groups"
exec ${as_postgres-} "$server/${PROGRAM:-postgres}" -D "$data" "$@"
