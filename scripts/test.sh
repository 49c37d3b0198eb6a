#!/bin/sh
# What `make test` runs after the set-up, cheapest first, stopping at the first failure. One compiled
# profile: tests drive the `slowpath` of the dev profile, which is optimised enough for real traces.
# Not a place for tests: those lie beside the code, in tests/ and in fuzz/.
set -eu
cd "$(dirname "$0")/.."

begin=$(date +%s)
step() {
    printf '\n== %s (%s s)\n' "$*" "$(($(date +%s) - begin))"
    "$@"
}

step sh scripts/python.sh
step cargo fmt --all --check
step cargo xtask check
step cargo clippy --workspace --all-targets --quiet -- -D warnings
# With a minute of fuzzing.
step env FUZZ_SECONDS="${FUZZ_SECONDS:-60}" cargo test --workspace
step sh scripts/interface.sh "${CARGO_TARGET_DIR:-target}/debug/slowpath"
# A browser mostly waits: agents are tested beside it.
step make --no-print-directory --jobs=3 --output-sync test-browser test-agents

printf '\nmake test: all passed in %s s\n' "$(($(date +%s) - begin))"
