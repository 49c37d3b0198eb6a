#!/bin/sh
# Runs a command with an LTTng session daemon that nobody else sees, for the agents' tests: private
# mounts hide the machine's /run and /dev/shm, so neither this machine's recordings nor its
# applications meet ours. Not for users: `slowpath record` brings a daemon of its own.
#   sh own-lttng.sh COMMAND [ARGUMENTS…]     OWN_LTTNG is set for the command where it worked.
set -eu

if [ "${1:-}" = --inside ]; then
    shift
    mount -t tmpfs tmpfs /run
    mount -t tmpfs tmpfs /dev/shm
    LTTNG_HOME=$(mktemp -d)
    export LTTNG_HOME OWN_LTTNG=1
    lttng-sessiond --no-kernel --daemonize --pidfile="$LTTNG_HOME/pid" >/dev/null
    trap 'kill "$(cat "$LTTNG_HOME/pid")" || :; rm -rf "$LTTNG_HOME"' EXIT
    trap 'exit 130' HUP INT TERM
    "$@"
    exit
fi

for tool in lttng lttng-sessiond babeltrace2 unshare; do
    command -v "$tool" >/dev/null 2>&1 || {
        echo "SKIPPED: tests that record events, as $tool is missing (make setup installs it)" >&2
        exec "$@"
    }
done
user=""
[ "$(id -u)" -eq 0 ] || user="--map-root-user"
if unshare --mount $user true 2>/dev/null; then
    exec unshare --mount $user sh "$0" --inside "$@"
fi
echo "SKIPPED: tests that record events, as mount namespaces are not permitted here" >&2
exec "$@"
