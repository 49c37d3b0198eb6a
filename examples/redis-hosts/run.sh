#!/bin/sh
# Three hosts of a Redis cluster, two of them with a service in Node too, send their events to a fourth while they are
# recorded: over the network, by LTTng's own relay daemon, as docs/guide/several-hosts.md says. Namespaces of network,
# mounts and names stand for the hosts; they have this machine's clock and kernel. What slowpath says of the streams is held
# against what the nodes counted and the client got (check.py).
#     run.sh [COUNT]     requests of each kind. SLOWPATH names the binary.        Not a benchmark.
example=redis-hosts
. "$(dirname "$0")/../begin.sh"
count=${1:-3000}
hosts="store-1 store-2 store-3"
collector=10.77.0.1
port=7600

for tool in redis-server redis-benchmark lttng lttng-relayd ip unshare node python3; do
    command -v "$tool" >/dev/null 2>&1 ||
        failed "$tool is missing" "apt-get install redis-server redis-tools lttng-tools iproute2 util-linux python3; Node 20"
done
[ "$(id -u)" = 0 ] || failed "namespaces need root" "sudo sh examples/redis-hosts/run.sh"
make --silent -C agents/redis >&2
make --silent -C agents/node >&2

# A folder of our own: the streams, and the daemons' files.
rm -rf "$cache"
mkdir -p "$cache"
recording=.cache/$example/collected
space() { echo "sp$$-$1"; }
relay=""
started=""
end() {
    touch "$cache/stop"
    for process in $started; do wait "$process" || true; done
    [ -z "$relay" ] || kill "$relay" 2>/dev/null || true
    wait
    for host in collector $hosts; do ip netns del "$(space "$host")" 2>/dev/null || true; done
}
trap end EXIT
trap 'exit 1' INT TERM

# The network: a bridge at the collector, a cable to each host.
ip netns add "$(space collector)"
in_collector() { ip netns exec "$(space collector)" "$@"; }
in_collector ip link set lo up
in_collector ip link add bridge type bridge
in_collector ip address add "$collector/24" dev bridge
in_collector ip link set bridge up
number=1
for host in $hosts; do
    number=$((number + 1))
    ip netns add "$(space "$host")"
    ip -n "$(space "$host")" link set lo up
    in_collector ip link add "to-$host" type veth peer name cable netns "$(space "$host")"
    in_collector ip link set "to-$host" master bridge up
    ip -n "$(space "$host")" address add "10.77.0.$number/24" dev cable
    ip -n "$(space "$host")" link set cable up
done

# What an administrator types on the collector …
ip netns exec "$(space collector)" lttng-relayd --output="$PWD/$recording" >"$cache/relayd" 2>&1 &
relay=$!

# … and on each host (host.sh).
addresses=""
number=1
for host in $hosts; do
    number=$((number + 1))
    addresses="$addresses 10.77.0.$number:$port"
    ip netns exec "$(space "$host")" unshare --mount --uts --propagation private \
        sh examples/redis-hosts/host.sh "$host" "10.77.0.$number" "$port" "$collector" "$cache" >"$cache/$host.said" 2>&1 &
    started="$started $!"
done
ready() {
    for host in $hosts; do
        attempts=0
        until [ -e "$cache/$host/$1" ]; do
            attempts=$((attempts + 1))
            [ "$attempts" -lt 300 ] || failed "$host is not $1" "see $cache/$host.said"
            sleep 0.1
        done
    done
}
ready running
in_collector redis-cli --cluster create $addresses --cluster-yes >"$cache/created" 2>&1 ||
    failed "the cluster could not be made" "see $cache/created"
attempts=0
for address in $addresses; do
    until in_collector redis-cli -u "redis://$address" cluster info | grep -q cluster_state:ok; do
        attempts=$((attempts + 1))
        [ "$attempts" -lt 200 ] || failed "the cluster does not become ready" "see $cache"
        sleep 0.1
    done
done
touch "$cache/record"
ready recorded

echo "redis-hosts: $count requests of each kind, while three hosts send their events to a fourth" >&2
in_collector redis-benchmark -h 10.77.0.2 -p "$port" --cluster -t set,get -n "$count" -q >"$cache/asked" 2>&1
in_collector redis-benchmark -h 10.77.0.3 -p "$port" -n "$((count / 10))" -c 1 -q PUBLISH news "$(printf %0100d 0)" >>"$cache/asked" 2>&1
in_collector node examples/redis-hosts/service.mjs ask http://10.77.0.2:8080/page "$((count / 30))" >"$cache/answers"

# What has arrived can be read meanwhile; then all of it. Each host sends what it has once a second.
sleep 2
"$slowpath" redis "$recording" --slowest 0 --json >"$cache/meanwhile.json" 2>"$cache/meanwhile" || true
touch "$cache/stop"
for process in $started; do wait "$process" || failed "a host failed" "see $cache/*.said"; done
started=""

"$slowpath" info "$recording"
"$slowpath" redis "$recording" --slowest 0
"$slowpath" redis "$recording" --slowest 0 --json >"$cache/redis.json"
"$slowpath" redis "$recording" --slowest 0 --by bus
"$slowpath" calls "$recording" --slowest 1
"$slowpath" calls "$recording" --slowest 0 --json >"$cache/calls.json"
python3 examples/redis-hosts/check.py "$cache" "$count"
