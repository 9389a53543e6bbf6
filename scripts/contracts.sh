#!/usr/bin/env bash
# Recompiles the contracts. Their bytecode is committed, so that tests need no compiler; run
# this after editing a .sol file. Needs npm.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/clone.sh
. scripts/clone.sh
# shellcheck source=scripts/npm.sh
. scripts/npm.sh

npm_tool solc solc@0.8.30

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
# The tests' own, and the one that payouts use.
for sources in tests/support/node/contracts src/payout/contract; do
    "$npm_modules/.bin/solcjs" --bin --optimize --base-path "$sources" --output-dir "$out" "$sources"/*.sol
    for contract in "$sources"/*.sol; do
        name=$(basename "$contract" .sol)
        cat "$out"/*_"$name".bin >"$sources/$name.hex"
        echo >>"$sources/$name.hex"
    done
done
