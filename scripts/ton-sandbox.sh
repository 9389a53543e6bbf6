#!/usr/bin/env bash
# Prints the folder whose node_modules hold TON's virtual machine and its own client, and fetches them with npm if they
# are not there. Order: $TON_SANDBOX, the copy under target/ from earlier, npm. The first two use no network.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/clone.sh
. scripts/clone.sh

packages=(@ton/sandbox@0.41.0 @ton/core@0.63.1 @ton/crypto@3.3.0 @ton/ton@16.3.0)

if [ -n "${TON_SANDBOX:-}" ]; then
    [ -d "$TON_SANDBOX/node_modules/@ton/sandbox" ] ||
        die "TON_SANDBOX is set to $TON_SANDBOX, which has no node_modules/@ton/sandbox"
    echo "$TON_SANDBOX"
    exit
fi

folder=$PWD/target/tools/ton-sandbox-0.41.0-16.3.0
if [ ! -d "$folder/node_modules/@ton/sandbox" ]; then
    if ! command -v npm >/dev/null && can_apt_install; then
        lock_clone
        apt_install nodejs npm
    fi
    need npm "fetch TON's virtual machine for the tests, or set TON_SANDBOX"
    # Two test runs may install at once: each into a folder of its own, the first rename wins.
    mkdir -p target/tools
    fresh=$(mktemp -d "$PWD/target/tools/ton-sandbox.XXXXXX")
    trap 'rm -rf "$fresh"' EXIT
    # The peer dependencies are test frameworks for those who write contracts.
    npm install --prefix "$fresh" --silent --no-audit --no-fund --legacy-peer-deps "${packages[@]}" >&2
    [ -e "$folder" ] || mv "$fresh" "$folder" 2>/dev/null || true
fi
[ -d "$folder/node_modules/@ton/sandbox" ] || die "npm left no @ton/sandbox in $folder"
echo "$folder"
