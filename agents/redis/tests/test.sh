#!/bin/sh
# The agent under test in a real redis-server, recorded by a real LTTng session, on ports of its own: what
# the events say is what the client did (test_agent.py), replies are those without it (test_replies.py),
# and it may come and go (test_attach.py). Says what it must skip.
. "$(dirname "$0")/../../tests-begin.sh"

for tool in redis-server python3; do
    command -v "$tool" >/dev/null 2>&1 || { echo "SKIPPED: tests of the Redis agent, as $tool is missing"; exit 0; }
done
[ -n "$OWN_LTTNG" ] || exit 0
TMPDIR=$folder python3 -W ignore -m unittest discover --start-directory tests --verbose
