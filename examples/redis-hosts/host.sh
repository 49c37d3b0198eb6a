#!/bin/sh
# One of the hosts of run.sh, in its own namespaces: Redis with the agent, a service on two of them, an LTTng session that
# sends what they tell to the collector. Ends when run.sh says so, by files in the folder. Not for a host of its own: what an
# administrator would type there are the lines with `lttng`.
#     host.sh NAME ADDRESS PORT COLLECTOR FOLDER
set -eu
name=$1 address=$2 port=$3 collector=$4 folder=$5
files=$folder/$name
mkdir -p "$files/data"

# Its name, and a session daemon that no other host sees.
hostname "$name"
mount -t tmpfs none /run
mount -t tmpfs none /dev/shm
[ /var/run -ef /run ] || mount -t tmpfs none /var/run
export HOME="$files" LTTNG_HOME="$files"
lttng-sessiond --no-kernel --daemonize

LD_PRELOAD=$SLOWPATH_AGENTS/redis/build/libslowpath_redis.so redis-server --port "$port" --bind "$address" --dir "$files/data" \
    --save '' --protected-mode no --cluster-enabled yes >"$files/redis" 2>&1 &
services=$!
redis=$!
export NODE_OPTIONS="--require $SLOWPATH_AGENTS/node/preload.cjs"
case $name in
    store-1) node examples/redis-hosts/service.mjs serve 8080 http://10.77.0.3:8080/part >"$files/service" 2>&1 & services="$services $!" ;;
    store-2) node examples/redis-hosts/service.mjs serve 8080 >"$files/service" 2>&1 & services="$services $!" ;;
esac
end() {
    kill $services 2>/dev/null || true
    for process in $services; do wait "$process" || true; done
    kill "$(cat /var/run/lttng/lttng-sessiond.pid)" 2>/dev/null || true
}
trap end EXIT
trap 'exit 1' INT TERM
asked() { redis-cli -h "$address" -p "$port" "$@"; }
until [ "$(asked ping 2>/dev/null)" = PONG ]; do sleep 0.1; done
touch "$files/running"

until [ -e "$folder/record" ] || [ -e "$folder/stop" ]; do sleep 0.1; done
lttng create shop --live --set-url="net://$collector"
lttng enable-channel --userspace events
lttng enable-event --userspace --channel=events \
    'slowpath_redis:batches,slowpath_redis:command_name,slowpath_redis:client_address'
lttng enable-event --userspace --channel=events \
    'slowpath_redis:cluster_send,slowpath_redis:cluster_process_packet,slowpath_redis:broadcast_start,slowpath_redis:broadcast_end,slowpath_redis:bus_address'
lttng enable-event --userspace --channel=events 'slowpath_node:*'
lttng add-context --userspace --channel=events --type=vpid --type=vtid
lttng start
# An idle server looks ten times in a second whether it is recorded.
sleep 0.3
asked config resetstat >"$files/reset"
touch "$files/recorded"

until [ -e "$folder/stop" ]; do sleep 0.1; done
asked info commandstats >"$files/commandstats"
sleep 1
lttng destroy
