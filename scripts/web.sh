#!/bin/sh
# Builds the browser application (web/dist), which `cargo build` then puts into the binary; only where
# something has changed since. Without Node and npm it says so and ends well: slowpath is built without it.
set -eu
cd "$(dirname "$0")/../web"

# $1: a version, such as v20.11.0; succeeds from 20 on.
is_new_enough() { [ "$(printf '%s' "$1" | sed 's/^v\([0-9]*\).*/\1/')" -ge 20 ]; }

if ! command -v npm >/dev/null 2>&1 || ! is_new_enough "$(node --version 2>/dev/null || echo v0)"; then
    echo "web: Node 20 with npm is missing: \`slowpath serve\` is built without the browser application." >&2
    echo "hint: install Node 20 or newer, then run this again." >&2
    exit 0
fi

installed=node_modules/.installed
if [ ! -e "$installed" ] || [ package-lock.json -nt "$installed" ]; then
    echo "web: installing what the browser application is built with" >&2
    npm ci --no-audit --no-fund --loglevel=error >&2
    touch "$installed"
fi
if [ ! -e dist/index.html ] ||
    [ -n "$(find src public index.html package-lock.json vite.config.ts scripts ../docs/reference/openapi.json -newer dist/index.html 2>/dev/null | head -n 1)" ]; then
    npm run --silent build >&2
    # Vite copies times of files that were not changed; and cargo, if it has built without any, does not look for them.
    touch dist/index.html ../crates/server/src/assets.rs
fi
