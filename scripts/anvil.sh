#!/usr/bin/env bash
# Prints the path of an anvil, the EVM test node, and installs one if the machine has none.
# Order: $ANVIL, `anvil` on PATH, the copy installed earlier, npm. The first three use no network.
set -euo pipefail

dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/clone.sh
. "$dir/clone.sh"
# shellcheck source=scripts/npm.sh
. "$dir/npm.sh"

if [ -n "${ANVIL:-}" ]; then
    [ -x "$ANVIL" ] || die "ANVIL is set to $ANVIL, which is not a program"
    echo "$ANVIL"
    exit
fi
if command -v anvil; then exit; fi

[ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] ||
    die "no prebuilt anvil is fetched for $(uname -s) $(uname -m): install Foundry, or set ANVIL"
npm_tool anvil @foundry-rs/anvil-linux-amd64@1.7.1
echo "$npm_modules/@foundry-rs/anvil-linux-amd64/bin/anvil"
