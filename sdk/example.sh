#!/usr/bin/env bash
# Runs one program in the current folder with the SDK of its language. The tests run the examples of
# docs/examples.md by it.
#
#   sdk/example.sh typescript|python|php|go|rust FILE
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck source=scripts/clone.sh
. "$here/../scripts/clone.sh"
# shellcheck source=scripts/npm.sh
. "$root/scripts/npm.sh"

language=${1:-}
file=${2:-}
[ -f "$file" ] || die "usage: example.sh typescript|python|php|go|rust FILE"
target_dir=${CARGO_TARGET_DIR:-$root/target}

# The compiler reads the SDK's sources beside the program; types are checked as merchants would.
typescript() {
    local node
    node=$("$root/scripts/languages.sh" node)
    npm_tool typescript typescript@5.9.3
    rm -rf node_modules
    mkdir -p node_modules/gateway-sdk
    cp -R "$here/typescript/src" "$here/typescript/package.json" "$here/typescript/tsconfig.json" node_modules/gateway-sdk
    "$node" "$npm_modules/typescript/bin/tsc" -p node_modules/gateway-sdk
    echo '{ "type": "module" }' >package.json
    cat >tsconfig.json <<JSON
{
  "compilerOptions": { "target": "ES2022", "module": "NodeNext", "lib": ["ES2022", "DOM"], "types": [], "strict": true },
  "files": ["$file"]
}
JSON
    "$node" "$npm_modules/typescript/bin/tsc" -p .
    exec "$node" "${file%.ts}.js"
}

python() {
    PYTHONPATH=$here/python/src exec "$("$root/scripts/languages.sh" python3)" -B "$file"
}

php() {
    exec "$("$root/scripts/languages.sh" php)" -d zend.assertions=1 "$file"
}

go() {
    printf 'module example\n\ngo 1.19\n\nrequire example.com/gateway/sdk/go v0.0.0\nreplace example.com/gateway/sdk/go => %s\n' \
        "$here/go" >go.mod
    GOCACHE=$target_dir/go-cache GOFLAGS=-buildvcs=false exec "$("$root/scripts/languages.sh" go)" run "$file"
}

# With the versions that the SDK is tested with, in its folder for what was built.
rust() {
    cp "$here/rust/Cargo.lock" .
    cat >Cargo.toml <<TOML
[package]
name = "example"
edition = "2024"

[workspace]

[[bin]]
name = "example"
path = "$file"

[dependencies]
gateway-sdk = { path = "$here/rust", default-features = false }
tokio = { version = "1", features = ["rt-multi-thread", "macros"] }
TOML
    exec cargo run --quiet --target-dir "$target_dir/sdk"
}

declare -F "$language" >/dev/null || die "there is no SDK for $language"
"$language"
