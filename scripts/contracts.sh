#!/bin/sh
# Compiles the test contracts again. Their bytecode is committed, so that tests need no compiler; run this after
# editing a .sol file. Needs npm.
set -eu
cd "$(dirname "$0")/.."

solc_version=0.8.30
tool=target/tools/solc-$solc_version
sources=tests/support/contracts

command -v npm >/dev/null || { echo "contracts.sh needs npm" >&2; exit 1; }
[ -x "$tool/node_modules/.bin/solcjs" ] ||
    npm install --prefix "$tool" --silent --no-audit --no-fund "solc@$solc_version"

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
"$tool/node_modules/.bin/solcjs" --bin --optimize --base-path "$sources" --output-dir "$out" "$sources"/*.sol
for contract in "$sources"/*.sol; do
    name=$(basename "$contract" .sol)
    cat "$out"/*_"$name".bin >"$sources/$name.hex"
    echo >>"$sources/$name.hex"
done
