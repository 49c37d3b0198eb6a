#!/bin/sh
# A stock redis-server explored over five of its settings, in about two minutes; check.py then holds what was found
# against what must be so whatever the machine. Not a benchmark of Redis.
#     run.sh [ARGUMENT...]     arguments go to `slowpath explore`, SLOWPATH names the binary.
example=explore-redis
. "$(dirname "$0")/../begin.sh"
for program in redis-server redis-benchmark redis-cli python3; do
    command -v "$program" >/dev/null || failed "there is no $program" "make setup; apt-get install redis"
done
cp "examples/$example/redis.conf.in" "$cache/"
cat "examples/$example/redis.toml" "examples/$example/functions.toml" >"$cache/redis.toml"
if ! "$slowpath" explore "$cache/redis.toml" --check; then
    echo "explore-redis: goes on without functions of redis-server as metrics" >&2
    cp "examples/$example/redis.toml" "$cache/redis.toml"
fi
"$slowpath" explore "$cache/redis.toml" -o "$cache/exploration" --overwrite "$@"
"$slowpath" explore "$cache/redis.toml" -o "$cache/exploration" --results json >"$cache/results.json"
python3 "examples/$example/check.py" "$cache/results.json" "$cache/exploration"
