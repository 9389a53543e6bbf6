#!/bin/sh
# Prints the path of an anvil, the EVM test node, and installs one under target/ if the machine has none.
# Order: $ANVIL, `anvil` on PATH, the copy installed earlier, npm. The first three use no network.
set -eu
cd "$(dirname "$0")/.."

version=1.7.1

if [ -n "${ANVIL:-}" ]; then
    [ -x "$ANVIL" ] || { echo "ANVIL is set to $ANVIL, which is not a program" >&2; exit 1; }
    echo "$ANVIL"
    exit
fi
if command -v anvil; then exit; fi

[ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] || {
    echo "no prebuilt anvil is fetched for $(uname -s) $(uname -m): install Foundry, or set ANVIL" >&2
    exit 1
}

folder=$PWD/target/tools/anvil-$version
binary=$folder/node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil
if [ ! -x "$binary" ]; then
    if ! command -v npm >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        { apt-get update && apt-get install --yes --no-install-recommends nodejs npm; } >&2
    fi
    command -v npm >/dev/null || {
        echo "the EVM tests need anvil: install Foundry, or npm so that $0 can fetch it" >&2
        exit 1
    }
    # Two test runs may install at once: each into a folder of its own, the first rename wins.
    mkdir -p target/tools
    fresh=$(mktemp -d "$PWD/target/tools/anvil.XXXXXX")
    trap 'rm -rf "$fresh"' EXIT
    npm install --prefix "$fresh" --silent --no-audit --no-fund "@foundry-rs/anvil-linux-amd64@$version" >&2
    [ -e "$folder" ] || mv "$fresh" "$folder" 2>/dev/null || true
fi
[ -x "$binary" ] || { echo "npm left no anvil at $binary" >&2; exit 1; }
echo "$binary"
