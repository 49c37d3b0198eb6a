#!/bin/sh
# Starts a Redis cluster of stock nodes on the loopback interface, records all of them from inside while a client asks,
# stores, subscribes and publishes, and holds what slowpath says of the cluster's bus against what the nodes and the kernel
# counted (check.py). With several numbers of nodes, one recording each: does the bus grow with them?
#     run.sh [NODES] [COUNT]     "3 4 5 6" for NODES: one after the other; COUNT: 100 for each node at least, as fewer messages
# do not stand out. SLOWPATH names the binary.        Not a benchmark.
example=redis-cluster
. "$(dirname "$0")/../begin.sh"
sizes=${1:-3}
count=${2:-20000}
first_port=7500

for tool in redis-server redis-cli python3 ss; do
    command -v "$tool" >/dev/null 2>&1 || failed "$tool is missing" "apt-get install redis-server python3 iproute2"
done
make --silent -C agents/redis >&2

servers=""
end() {
    [ -z "$servers" ] || kill $servers 2>/dev/null || true
    wait
    servers=""
    rm -rf "$cache/nodes"
}
trap end EXIT
trap 'exit 1' INT TERM

# Leaves $servers, their process numbers, in the order of their ports, which $addresses has.
start() {
    addresses=""
    for port in $(seq "$first_port" $((first_port + $1 - 1))); do
        mkdir -p "$cache/nodes/$port"
        redis-server --port "$port" --bind 127.0.0.1 --dir "$cache/nodes/$port" --save '' --appendonly no \
            --cluster-enabled yes >"$cache/nodes/$port/log" &
        servers="$servers $!"
        addresses="$addresses 127.0.0.1:$port"
        # Not another server that has the port.
        await "$port" "info server" "process_id:$!"
    done
    redis-cli --cluster create $addresses --cluster-yes >"$cache/created" ||
        failed "the cluster could not be made" "see $cache/created"
    for port in $(seq "$first_port" $((first_port + $1 - 1))); do
        await "$port" "cluster info" cluster_state:ok
        await "$port" "cluster info" "cluster_known_nodes:$1"
    done
}
await() {
    attempts=0
    until redis-cli -p "$1" $2 2>/dev/null | grep -q "$3"; do
        attempts=$((attempts + 1))
        [ "$attempts" -lt 200 ] || failed "the node at port $1 does not say $3" "is the port another program's?"
        sleep 0.1
    done
}

for nodes in $sizes; do
    recording=redis-cluster-$nodes-recording
    [ ! -e "$recording" ] || [ -f "$recording/slowpath.json" ] || failed "$recording is not a recording" "move it away"
    start "$nodes"
    echo "redis-cluster: $nodes nodes, $count requests of each kind, while slowpath records" >&2
    "$slowpath" record -o "$recording" --overwrite --kernel none --agents off --spans off \
        --redis "$(echo $servers | tr ' ' ,)" --redis-detail full -- \
        python3 examples/redis-cluster/load.py "$first_port" "$(echo $servers | tr ' ' ,)" "$count" \
        "$cache/truth-$nodes.json" >"$cache/said" 2>&1 || recording_failed
    end

    "$slowpath" redis "$recording" --slowest 0 --by bus
    for level in lite life-cycle; do
        "$slowpath" redis "$recording" --slowest 0 --level "$level" --json >"$cache/$level-$nodes.json"
    done
done
python3 examples/redis-cluster/check.py "$cache" "$count" $sizes
