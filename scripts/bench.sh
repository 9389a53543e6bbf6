#!/usr/bin/env bash
# The benchmarks, over the tests' servers and release builds of the programs. ONLY and ROUNDS limit
# them.
set -euo pipefail

dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/clone.sh
. "$dir/clone.sh"

need cargo "build the gateway (https://rustup.rs)"
need cc "link the gateway (a C compiler: package build-essential on Debian)"
cd "$root"

"$dir/services.sh" start
"$dir/services.sh" forget-tests
environment=$("$dir/services.sh" env bench)
set -a
eval "$environment"
# The same address for programs that read no configuration.
# shellcheck disable=SC2153,SC2034 # the two names differ on purpose; it is exported
GATEWAY_BROKER_MANAGEMENT_URL=$GATEWAY_BROKER__MANAGEMENT_URL
set +a

step bench "building what is measured"
cargo build --locked --release --workspace
step bench "measuring; a whole run takes more than half an hour"
cargo bench --locked --workspace --bench load -- "$@"
