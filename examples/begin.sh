# Sourced first by the examples' run.sh, after $example was set: goes to the repository, finds the binary
# (SLOWPATH names another) and sees to it that nothing but an older recording is overwritten. Leaves
# $slowpath, $recording, $cache (made, kept between runs) and `failed`. Not a script by itself.
set -eu
cd "$(dirname "$0")/../.."
slowpath=${SLOWPATH:-target/release/slowpath}
recording=$example-recording
cache=$PWD/.cache/$example

failed() {
    echo "$example: $1" >&2
    echo "hint: $2" >&2
    exit 1
}
[ -x "$slowpath" ] || failed "there is no $slowpath" "make build, or name the binary by SLOWPATH"
[ ! -e "$recording" ] || [ -f "$recording/slowpath.json" ] || failed "$recording is not a recording" "move it away"
mkdir -p "$cache"

# The recording has span events of the service.
has_spans() {
    "$slowpath" count "$recording" | grep slowpath_span ||
        failed "the recording has no span events" "is lttng-tools installed? make setup; see $cache/said"
}
recording_failed() {
    failed "recording failed; the end of what was said: $(tail -n 5 "$cache/said")" "see $cache/said"
}
