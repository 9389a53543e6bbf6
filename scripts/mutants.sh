#!/usr/bin/env bash
# Mutation tests of the pure rules: changes them in small ways, one at a time, and requires a test
# to fail for each change. Arguments: source files (default: money, the ledger, the lifecycles,
# retries and signatures). Takes three quarters of an hour on two cores.
set -euo pipefail

dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/clone.sh
. "$dir/clone.sh"
cd "$root"

version=27.1.0
tool=$root/target/tools/mutants-$version

need cargo "build the gateway (https://rustup.rs)"
if command -v cargo-mutants >/dev/null; then
    mutants=cargo-mutants
else
    mutants=$tool/bin/cargo-mutants
    if [ ! -x "$mutants" ]; then
        step mutants "building cargo-mutants $version, once"
        cargo install cargo-mutants --version "$version" --locked --root "$tool"
    fi
fi

files=("$@")
if [ ${#files[@]} -eq 0 ]; then
    files=(src/money.rs src/ledger.rs src/invoice/{lifecycle,deadline}.rs
        src/webhook/{canonical,ipn,payout,retry}.rs
        src/payout/{lifecycle,batch,eip1559,sighash,transfer}.rs
        src/nc_payout/{lifecycle,check}.rs src/nc_payout/psbt/{check,unlock}.rs)
fi
only=()
for file in "${files[@]}"; do only+=(--file "$file"); done

mkdir -p "$run_dir"
"$mutants" mutants --package gateway --no-default-features "${only[@]}" --output "$run_dir" --timeout 60 -- --lib
