#!/bin/sh
# Installs the Debian packages that building, testing and the demo use, and only those that are
# missing. Quiet when there is nothing to do. Never starts or enables a service, never fails for a
# package that cannot be had: it says what will be skipped without it. Not an installer of slowpath.
set -eu

# package:what is skipped without it
PACKAGES="
pkg-config:user-space tracing support is not built
libc6-dev:C programs (demo workload) are not built
liblttng-ust-dev:user-space tracing support is not built
libzydis-dev:the Redis agent is not built
lttng-tools:recording of user-space events, and tests of it
babeltrace2:tests and benchmarks that compare with babeltrace2
trace-cmd:tests that compare with trace-cmd
redis-server:tests that record a Redis server
redis-tools:tests that record a Redis server
libsqlite3-dev:examples/explore-sqlite
postgresql:examples/explore-postgres
zstd:tests on packed traces
default-jdk-headless:the Java agents are not built
maven:the Java agents are not built
python3-venv:tests that send spans from Python
chromium:tests of the browser application
"

say() { printf 'setup: %s\n' "$*" >&2; }

if ! command -v cargo >/dev/null 2>&1; then
    say "cargo is missing."
    say "hint: install Rust with rustup (https://rustup.rs), then run this again."
    exit 1
fi

consequence() { printf '%s\n' "$PACKAGES" | sed -n "s/^$1://p"; }

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

missing_packages() {
    for package in $(printf '%s\n' "$PACKAGES" | cut -d: -f1); do
        installed "$package" || printf '%s ' "$package"
    done
}

say_skipped() {
    for package in "$@"; do
        say "without $package: $(consequence "$package")"
    done
}

if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg-query >/dev/null 2>&1; then
    say "this is not a Debian system: nothing is installed here."
    for tool in pkg-config babeltrace2 lttng trace-cmd redis-server zstd; do
        command -v "$tool" >/dev/null 2>&1 || say "hint: \`$tool\` is missing; what needs it is skipped."
    done
    exit 0
fi

missing=$(missing_packages)
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -eq 0 ]; then
    as_root=""
elif command -v sudo >/dev/null 2>&1 && { [ -z "${CI:-}" ] || sudo -n true 2>/dev/null; }; then
    as_root="sudo"
else
    say "no right to install packages (neither root nor sudo)."
    # shellcheck disable=SC2086
    say_skipped $missing
    say "hint: have an administrator run: apt-get install $missing"
    exit 0
fi

# A package's service must not start: this file's exit status 101 forbids it (Debian policy, 9.3.3).
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap '$as_root rm -f "$policy"' EXIT
    trap 'exit 130' INT TERM
    printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null
    $as_root chmod 755 "$policy"
fi

apt() {
    $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get -qq -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@" </dev/null
}

say "installing $missing"
apt update >/dev/null || say "apt-get update failed; trying with the package lists that are here."
# shellcheck disable=SC2086
if ! apt install -y --no-install-recommends $missing >/dev/null; then
    say "not all of them can be had; trying one by one."
    for package in $missing; do
        apt install -y --no-install-recommends "$package" >/dev/null || true
    done
fi

# Nor may the services start with the machine, now that this script brought them.
if command -v systemctl >/dev/null 2>&1; then
    for pair in redis-server:redis-server lttng-tools:lttng-sessiond postgresql:postgresql; do
        case " $missing " in
        *" ${pair%%:*} "*) $as_root systemctl --quiet disable "${pair##*:}" >/dev/null 2>&1 || true ;;
        esac
    done
fi

# shellcheck disable=SC2046
say_skipped $(missing_packages)
