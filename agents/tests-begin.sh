# Sourced first by the agents' test and bench scripts: goes to the agent's folder and starts the script
# anew under an LTTng session daemon of its own (own-lttng.sh; OWN_LTTNG is empty where that cannot be).
# Leaves $folder, gone at the end, and `failed`. Not a test runner.
set -eu
cd "$(dirname "$0")/.."
if [ -z "${OWN_LTTNG+x}" ]; then
    OWN_LTTNG='' exec sh ../own-lttng.sh sh "tests/$(basename "$0")"
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed() { echo "FAILED: $*" >&2; exit 1; }
