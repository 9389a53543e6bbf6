#!/usr/bin/env bash
# Prints the folder whose node_modules hold Solana's own client, and fetches it with npm if it is not there. Order:
# $SOLANA_CLIENT, the copy under target/ from earlier, npm. The first two use no network.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/clone.sh
. scripts/clone.sh

version=1.99.0

if [ -n "${SOLANA_CLIENT:-}" ]; then
    [ -d "$SOLANA_CLIENT/node_modules/@solana/web3.js" ] ||
        die "SOLANA_CLIENT is set to $SOLANA_CLIENT, which has no node_modules/@solana/web3.js"
    echo "$SOLANA_CLIENT"
    exit
fi

folder=$PWD/target/tools/solana-client-$version
if [ ! -d "$folder/node_modules/@solana/web3.js" ]; then
    if ! command -v npm >/dev/null && can_apt_install; then
        lock_clone
        apt_install nodejs npm
    fi
    need npm "fetch Solana's client for the tests, or set SOLANA_CLIENT"
    # Two test runs may install at once: each into a folder of its own, the first rename wins.
    mkdir -p target/tools
    fresh=$(mktemp -d "$PWD/target/tools/solana-client.XXXXXX")
    trap 'rm -rf "$fresh"' EXIT
    npm install --prefix "$fresh" --silent --no-audit --no-fund "@solana/web3.js@$version" >&2
    [ -e "$folder" ] || mv "$fresh" "$folder" 2>/dev/null || true
fi
[ -d "$folder/node_modules/@solana/web3.js" ] || die "npm left no @solana/web3.js in $folder"
echo "$folder"
