#!/bin/sh
# Runs a command while a session of the LTTng daemon at hand records slowpath_span into a folder.
# For tests of all span agents, inside ../../own-lttng.sh.   recorded.sh FOLDER COMMAND [ARGUMENTS…]
# Not what users do: `slowpath record` is.
set -eu
folder=$1
shift
session=spans-test-$$
quiet() { "$@" >/dev/null; }
quiet lttng create "$session" --output="$folder"
trap 'quiet lttng destroy "$session" || true' EXIT
# Blocking, so that no event is lost however busy the machine is. (Applications must allow it.)
export LTTNG_UST_ALLOW_BLOCKING=1
quiet lttng enable-channel --userspace --session="$session" --blocking-timeout=inf spans
quiet lttng enable-event --userspace --session="$session" --channel=spans 'slowpath_span:*'
quiet lttng add-context --userspace --session="$session" --channel=spans --type=vpid --type=vtid --type=procname
quiet lttng start "$session"
"$@"
quiet lttng stop "$session"
