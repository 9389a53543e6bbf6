#!/usr/bin/env bash
# Prints the folder whose node_modules hold surfpool, which is Solana's virtual machine as a node of
# one process, and Solana's own clients; fetches them with npm if they are missing. Order:
# $SURFPOOL, the copy from earlier, npm.
set -euo pipefail

dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/clone.sh
. "$dir/clone.sh"
# shellcheck source=scripts/npm.sh
. "$dir/npm.sh"

# Only the native library: there is one package per platform, and this is the one of Linux.
library=@solana/surfpool-linux-x64-gnu
if [ -n "${SURFPOOL:-}" ]; then
    [ -d "$SURFPOOL/node_modules/$library" ] || die "SURFPOOL is set to $SURFPOOL, which has no node_modules/$library"
    echo "$SURFPOOL"
    exit
fi

[ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] || die "no prebuilt surfpool is fetched for $(uname -s) $(uname -m)"
npm_tool surfpool "$library@1.5.0" @solana/web3.js@1.99.0 @solana/spl-token@0.4.14
dirname "$npm_modules"
