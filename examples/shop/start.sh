#!/bin/sh
# Starts the shop, has it serve customers, and ends it: what `slowpath record` of run.sh runs. Knows nothing of
# tracing but that the customers are not to be recorded.
#     start.sh ORDERS TOGETHER CACHE
set -eu
orders=$1 together=$2 cache=$3
shop=$(dirname "$0")
export GATEWAY_PORT=7400 USER_PORT=7401 ORDER_PORT=7402 REDIS_GATEWAY_PORT=7403 SQL_GATEWAY_PORT=7404
export REDIS_PORT=7405 SQL_PORT=7406 NODE_PATH="$cache/node_modules"

# PostgreSQL refuses to run as root.
as_postgres=""
[ "$(id -u)" -ne 0 ] || as_postgres="runuser -u postgres --"
programs=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
data=$(mktemp -d)
[ -z "$as_postgres" ] || chown postgres "$data"
processes=""
end() {
    [ -z "$processes" ] || kill $processes 2>/dev/null || true
    (cd / && $as_postgres "$programs/pg_ctl" --pgdata "$data" --mode fast --silent stop) || true
    wait
    rm -rf "$data"
}
trap end EXIT
(
    cd /
    $as_postgres "$programs/initdb" --pgdata "$data" --auth trust --username shop --no-sync >"$cache/sql.log" 2>&1
    $as_postgres "$programs/pg_ctl" --pgdata "$data" --silent --log "$data/log" --options \
        "-p $SQL_PORT -c listen_addresses=127.0.0.1 -c unix_socket_directories=$data -c fsync=off" start >/dev/null
)
redis-server --port "$REDIS_PORT" --bind 127.0.0.1 --save '' --appendonly no --dir "$cache" >"$cache/redis.log" &
processes="$processes $!"
for service in sql-gateway redis-gateway user order gateway; do
    node "$shop/services/$service.js" &
    processes="$processes $!"
done
listens() {
    NODE_OPTIONS= node --eval "require('net').connect($1, '127.0.0.1').on('connect', () => process.exit(0)).on('error', () => process.exit(1))"
}
for port in $REDIS_PORT $GATEWAY_PORT $USER_PORT $ORDER_PORT $REDIS_GATEWAY_PORT $SQL_GATEWAY_PORT; do
    attempts=0
    until listens "$port"; do
        attempts=$((attempts + 1))
        [ "$attempts" -lt 100 ] || { echo "shop: nobody listens at port $port" >&2; exit 1; }
        sleep 0.1
    done
done
NODE_OPTIONS= node "$shop/customers.mjs" "$orders" "$together" "$cache/truth.json"
