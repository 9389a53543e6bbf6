#!/usr/bin/env bash
# Prints the folder whose node_modules hold TON's virtual machine and its own client, and fetches
# them with npm if they are missing. Order: $TON_SANDBOX, the copy from earlier, npm. The first two
# use no network.
set -euo pipefail

dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/clone.sh
. "$dir/clone.sh"
# shellcheck source=scripts/npm.sh
. "$dir/npm.sh"

if [ -n "${TON_SANDBOX:-}" ]; then
    [ -d "$TON_SANDBOX/node_modules/@ton/sandbox" ] ||
        die "TON_SANDBOX is set to $TON_SANDBOX, which has no node_modules/@ton/sandbox"
    echo "$TON_SANDBOX"
    exit
fi

# The peer dependencies are test frameworks for contract authors.
npm_tool ton-sandbox --legacy-peer-deps @ton/sandbox@0.41.0 @ton/core@0.63.1 @ton/crypto@3.3.0 @ton/ton@16.3.0
dirname "$npm_modules"
