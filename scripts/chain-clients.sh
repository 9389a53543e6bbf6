#!/usr/bin/env bash
# Prints two lines: the path of node, and of the folder with the clients that read the stubs of chain nodes; installs
# them under target/ if they are not there. Order: $CHAIN_CLIENTS, the copy installed earlier, npm.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/clone.sh
. scripts/clone.sh

packages=(@cosmjs/tendermint-rpc@0.39.0 @near-js/jsonrpc-types@1.4.0 tronweb@6.5.1)

scripts/languages.sh node
if [ -n "${CHAIN_CLIENTS:-}" ]; then
    [ -d "$CHAIN_CLIENTS/tronweb" ] || die "CHAIN_CLIENTS is set to $CHAIN_CLIENTS, which has no tronweb in it"
    echo "$CHAIN_CLIENTS"
    exit
fi

# Named by its content, so that a new version is a new folder.
wanted=$(printf '%s\n' "${packages[@]}" | sha256sum | cut -c 1-12)
folder=$PWD/target/tools/chain-clients-$wanted
mkdir -p target/tools
# Tests that run side by side ask at once; one of them installs for all.
if command -v flock >/dev/null; then
    exec 8>"$folder.lock"
    flock -w 600 8 || die "another run has been installing into $folder for 10 minutes"
fi
if [ ! -d "$folder/node_modules" ]; then
    if ! command -v npm >/dev/null && can_apt_install; then
        lock_clone
        command -v npm >/dev/null || apt_install npm >&2
    fi
    command -v npm >/dev/null || die "the stubs of chain nodes are read by npm packages: install npm"
    # Made aside, so that a run that was interrupted leaves nothing half done.
    fresh=$(mktemp -d "$PWD/target/tools/chain-clients.XXXXXX")
    trap 'rm -rf "$fresh"' EXIT
    npm install --prefix "$fresh" --silent --no-audit --no-fund "${packages[@]}" >&2
    [ -e "$folder" ] || mv "$fresh" "$folder" 2>/dev/null || true
fi
[ -d "$folder/node_modules/tronweb" ] || die "npm left no tronweb in $folder"
echo "$folder/node_modules"
