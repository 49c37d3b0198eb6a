#!/bin/sh
# Runs the fuzz targets for a bounded time: FUZZ_SECONDS in all (60 by default), shared among them.
# With a nightly toolchain and cargo-fuzz: coverage-guided. Else the same targets under the
# `mutate` driver of fuzz/, which needs only the pinned toolchain. Not the long hunt: see fuzz/.
set -eu
cd "$(dirname "$0")/.."

seconds=${FUZZ_SECONDS:-60}

if [ ! -f fuzz/Cargo.toml ]; then
    echo "fuzz-smoke: fuzz/Cargo.toml is missing, nothing was fuzzed." >&2
    exit 0
fi

if [ "${FUZZ_DRIVER:-auto}" != mutate ] && command -v cargo-fuzz >/dev/null 2>&1 \
    && rustup toolchain list 2>/dev/null | grep -q '^nightly'; then
    targets=$(cargo +nightly fuzz list)
    each=$((seconds / $(printf '%s\n' "$targets" | wc -l) + 1))
    for target in $targets; do
        echo "fuzz-smoke: $target, coverage-guided, $each s"
        cargo +nightly fuzz run --features coverage "$target" -- -max_total_time="$each" -rss_limit_mb=1024 -timeout=10
    done
else
    echo "fuzz-smoke: random mutations, $seconds s (for coverage-guided: rustup toolchain install nightly; cargo install cargo-fuzz)"
    # What the tests were built from is of use here, too.
    cargo run --quiet --manifest-path fuzz/Cargo.toml --target-dir "${CARGO_TARGET_DIR:-target}" --bin mutate -- --seconds "$seconds"
fi
