#!/usr/bin/env bash
# Prints the folder whose node_modules hold Solana's own client, and fetches it with npm if it is
# missing. Order: $SOLANA_CLIENT, the copy from earlier, npm. The first two use no network.
set -euo pipefail

dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/clone.sh
. "$dir/clone.sh"
# shellcheck source=scripts/npm.sh
. "$dir/npm.sh"

if [ -n "${SOLANA_CLIENT:-}" ]; then
    [ -d "$SOLANA_CLIENT/node_modules/@solana/web3.js" ] ||
        die "SOLANA_CLIENT is set to $SOLANA_CLIENT, which has no node_modules/@solana/web3.js"
    echo "$SOLANA_CLIENT"
    exit
fi

npm_tool solana-client @solana/web3.js@1.99.0
dirname "$npm_modules"
