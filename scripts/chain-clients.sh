#!/usr/bin/env bash
# Prints two lines: the path of node, and of the folder with the clients that read the stubs of
# chain nodes; installs them if they are missing. Order: $CHAIN_CLIENTS, the copy installed earlier,
# npm.
set -euo pipefail

dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/clone.sh
. "$dir/clone.sh"
# shellcheck source=scripts/npm.sh
. "$dir/npm.sh"

"$dir/languages.sh" node
if [ -n "${CHAIN_CLIENTS:-}" ]; then
    [ -d "$CHAIN_CLIENTS/tronweb" ] || die "CHAIN_CLIENTS is set to $CHAIN_CLIENTS, which has no tronweb in it"
    echo "$CHAIN_CLIENTS"
    exit
fi

npm_tool chain-clients @cosmjs/tendermint-rpc@0.39.0 @near-js/jsonrpc-types@1.4.0 tronweb@6.5.1
echo "$npm_modules"
