#!/usr/bin/env bash
# Builds SDKs and drives each through sdk/scenario.json against a running gateway.
#
#   sdk/run.sh [typescript|python|php|go|rust]...     all if none is named
#
# The gateway is the sandbox of `make up`, or what GATEWAY_BASE_URL, GATEWAYCTL and the environment
# of that program name. The tests call it so (tests/it/sdk).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source=scripts/clone.sh
. "$here/../scripts/clone.sh"
# shellcheck source=scripts/npm.sh
. "$root/scripts/npm.sh"
# shellcheck source=scripts/pypi.sh
. "$root/scripts/pypi.sh"

mkdir -p "$run_dir/log"
target_dir=${CARGO_TARGET_DIR:-$root/target}
if [ -z "${GATEWAY_BASE_URL:-}" ]; then
    [ -s "$run_dir/stack.env" ] || die "no sandbox is up: make up"
    set -a
    # shellcheck source=/dev/null
    . "$run_dir/stack.env"
    set +a
fi
export GATEWAYCTL=${GATEWAYCTL:-$target_dir/release/gatewayctl}
[ -x "$GATEWAYCTL" ] || die "GATEWAYCTL is no program: $GATEWAYCTL"

python3=$("$root/scripts/languages.sh" python3)

# Each of these sets `driver`, the command that conformance.py starts.

typescript() {
    local node built=$target_dir/sdk-typescript
    node=$("$root/scripts/languages.sh" node)
    npm_tool typescript typescript@5.9.3
    rm -rf "$built"
    "$node" "$npm_modules/typescript/bin/tsc" -p "$here/typescript" --outDir "$built"
    # Committed, because merchants' npm compiles nothing.
    diff -r "$built" "$here/typescript/dist" >&2 ||
        die "sdk/typescript/dist is not what its sources compile to: npx -p typescript@5.9.3 tsc -p sdk/typescript writes it"
    "$node" --test "$here/typescript/conformance/x402.test.mjs" >&2
    driver=("$node" "$here/typescript/conformance/driver.mjs")
}

# The driver's receivers run in the frameworks that merchants use; the SDK needs none of them.
python() {
    python_tool fastapi 0.121.2 uvicorn==0.38.0 django==5.2.8
    export PYTHONPATH=$here/python/src
    "$python_folder/bin/python" -B -m unittest discover -q -s "$here/python/tests" >&2
    driver=("$python_folder/bin/python" -B "$here/python/conformance/driver.py")
}

php() {
    local php
    php=$("$root/scripts/languages.sh" php)
    driver=("$php" -d zend.assertions=1 "$here/php/conformance/driver.php")
}

go() {
    local go
    go=$("$root/scripts/languages.sh" go)
    # Inside target, so that no test needs a home folder; no checkout's version is stamped.
    (cd "$here/go" && GOCACHE=$target_dir/go-cache GOFLAGS=-buildvcs=false "$go" build -o "$target_dir/sdk-go" ./conformance)
    driver=("$target_dir/sdk-go")
}

rust() {
    # Not the gateway's own folder: the cargo that runs the tests may hold its lock.
    local build=(--quiet --locked --manifest-path "$here/rust/Cargo.toml" --target-dir "$target_dir/sdk"
        --no-default-features --features axum)
    cargo test "${build[@]}" --lib
    cargo build "${build[@]}" --example conformance
    driver=("$target_dir/sdk/debug/examples/conformance")
}

languages=("$@")
[ ${#languages[@]} -gt 0 ] || languages=(typescript python php go rust)
for language in "${languages[@]}"; do
    declare -F "$language" >/dev/null || die "there is no SDK for $language"
    "$language"
    # Locks of an installation; the scenario needs none, and others wait for them.
    exec 8>&- 9>&-
    "$python3" -B "$here/conformance.py" "$language" "${driver[@]}"
done
