#!/bin/sh
# Records a shop of five Node services, Redis and PostgreSQL while customers order, shows its slowest orders as trees,
# and holds all of them against what the customers and Redis wrote down (check.py).
#     run.sh [ORDERS] [TOGETHER]     SLOWPATH names the binary.        Not a benchmark: one short run.
example=shop
. "$(dirname "$0")/../begin.sh"
orders=${1:-1000}
together=${2:-50}

for tool in redis-server node npm; do
    command -v "$tool" >/dev/null 2>&1 || failed "$tool is missing" "apt-get install redis-server nodejs npm"
done
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || failed "PostgreSQL is missing" "apt-get install postgresql"
make --silent -C agents/node >&2
make --silent -C agents/redis >&2
cmp -s examples/shop/package.json "$cache/package.json" || {
    cp examples/shop/package.json "$cache/"
    npm install --no-audit --no-fund --silent --prefix "$cache" ||
        { rm "$cache/package.json"; failed "npm could not install what the services need" "is there a network?"; }
}

echo "shop: $orders orders, $together at a time, while slowpath records" >&2
"$slowpath" record -o "$recording" --overwrite --agents off --spans off --node --redis launch -- \
    sh examples/shop/start.sh "$orders" "$together" "$cache" >"$cache/said" 2>&1 || recording_failed

"$slowpath" calls "$recording" --slowest 2
"$slowpath" calls "$recording" --slowest 0 --json >"$cache/calls.json"
python3 examples/shop/check.py "$cache" "$orders"
