#!/bin/sh
# Runs the fuzz targets for a bounded time: FUZZ_SECONDS in all (60 by default), shared among them.
# With a nightly toolchain and cargo-fuzz: coverage-guided. Else the same targets under the
# `mutate` driver of fuzz/, which needs only the pinned toolchain. Not the long hunt: see fuzz/.
set -eu
cd "$(dirname "$0")/.."

seconds=${FUZZ_SECONDS:-60}

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
    FUZZ_SECONDS=$seconds cargo test --quiet --workspace --test mutations -- --nocapture
fi
