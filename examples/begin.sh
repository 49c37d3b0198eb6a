# Sourced first by the examples' run.sh, after $example was set: goes to the repository, finds the binary
# (SLOWPATH names another) and sees to it that nothing but an older recording is overwritten. Leaves
# $slowpath, $recording, $cache (made, kept between runs) and `failed`. Not a script by itself.
set -eu
cd "$(dirname "$0")/../.."
slowpath=${SLOWPATH:-target/release/slowpath}
recording=$example-recording
cache=$PWD/.cache/$example
export SLOWPATH_AGENTS=$PWD/agents

failed() {
    echo "$example: $1" >&2
    echo "hint: $2" >&2
    exit 1
}
[ -x "$slowpath" ] || failed "there is no $slowpath" "make build, or name the binary by SLOWPATH"
[ ! -e "$recording" ] || [ -f "$recording/slowpath.json" ] || failed "$recording is not a recording" "move it away"
mkdir -p "$cache"

# Asks what was slow and why, and holds the answers against what was written down meanwhile (in $cache):
# check.py, which gets this function's arguments, ends with status 1 when one of them is wrong.
answers_hold() {
    "$slowpath" diagnose "$recording" --json >"$cache/diagnose.json"
    "$slowpath" requests "$recording" --json >"$cache/requests.json"
    python3 "examples/$example/check.py" "$cache" "$@"
}
recording_failed() {
    failed "recording failed; the end of what was said: $(tail -n 5 "$cache/said")" "see $cache/said"
}
