#!/usr/bin/env bash
# Pays for an address by a published client of x402, unchanged, and prints what came of it: one JSON object with status,
# settlement and body.
#
#   x402.sh fetch|fetch-v1|python URL NETWORK      PAYER_KEY (0x…) and RPC_URL in the environment
#   x402.sh second                                 builds another facilitator and prints its program (tests/x402/main.rs)
#
# NETWORK is eip155:137 for version 2 and polygon for version 1. Tests call it (tests/it/x402/clients.rs).
set -euo pipefail

dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/clone.sh
. "$dir/clone.sh"
# shellcheck source=scripts/npm.sh
. "$dir/npm.sh"
# shellcheck source=scripts/pypi.sh
. "$dir/pypi.sh"

mkdir -p "$run_dir/log"
case ${1:-} in
    fetch | fetch-v1)
        node=$("$dir/languages.sh" node)
        # The newest viem needs a package that not every registry has.
        npm_tool x402 @x402/fetch@2.27.0 @x402/evm@2.27.0 x402-fetch@1.2.0 viem@2.45.0
        NODE_MODULES=$npm_modules exec "$node" "$root/tests/x402/pay.mjs" "$@" 8>&- 9>&-
        ;;
    python)
        python_tool x402 2.25.0 "x402[evm,requests]==2.25.0" >&2
        exec "$python_folder/bin/python" -B "$root/tests/x402/pay.py" "$2" 8>&- 9>&-
        ;;
    second)
        cargo build --locked --quiet --manifest-path "$root/tests/x402/second/Cargo.toml" --target-dir "$root/target/second" >&2
        printf '%s\n' "$root/target/second/debug/second-facilitator"
        ;;
    *) die "usage: x402.sh fetch|fetch-v1|python URL NETWORK, or x402.sh second" ;;
esac
