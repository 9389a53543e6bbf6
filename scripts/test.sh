#!/usr/bin/env bash
# All tests. The pure rules first, without any server; then everything over the real PostgreSQL and RabbitMQ, where each
# test makes its own database and its own queues. Arguments go to the second `cargo test`, instead of the whole workspace.
set -euo pipefail

dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/clone.sh
. "$dir/clone.sh"

need cargo "build the gateway (https://rustup.rs)"
need cc "link the gateway (a C compiler: package build-essential on Debian)"
cd "$root"

step test "pure rules, no servers"
cargo test --locked -p gateway --no-default-features --lib

"$dir/services.sh" start
"$dir/services.sh" forget-tests
environment=$("$dir/services.sh" env test)
set -a
eval "$environment"
# The same address for test programs that read no configuration.
# shellcheck disable=SC2153 # the two names differ on purpose
GATEWAY_BROKER_MANAGEMENT_URL=$GATEWAY_BROKER__MANAGEMENT_URL
set +a
# For running one test by hand: set -a; . .run/test.env; cargo test -p tests NAME
(umask 077 && printf '%s\nGATEWAY_BROKER_MANAGEMENT_URL=%q\n' "$environment" "$GATEWAY_BROKER_MANAGEMENT_URL" >"$run_dir/test.env")

step test "everything, over PostgreSQL and RabbitMQ"
# Tests that start the gateway's programs find them in target/debug.
cargo build --locked --workspace
RUST_TEST_THREADS=${RUST_TEST_THREADS:-$("$dir/services.sh" test-threads)} cargo test --locked "${@:---workspace}"
