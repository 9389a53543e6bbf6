#!/usr/bin/env bash
# Fuzzes each target of tests/fuzz for a bounded time, guided by coverage, from the kept corpus.
# Arguments: targets (default: all). SECONDS_EACH sets the time (default 15). A failing input is
# left in .run/fuzz and printed with the command that repeats it; inputs that reached new code are
# kept there too and belong in tests/fuzz/corpus if they are instructive.
set -euo pipefail

dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/clone.sh
. "$dir/clone.sh"
cd "$root"

need cargo "build the fuzz targets (https://rustup.rs)"
if ! command -v c++ >/dev/null && can_apt_install; then apt_install g++; fi
need c++ "build libFuzzer, the engine (a C++ compiler: package g++ on Debian)"

seconds=${SECONDS_EACH:-15}
found=$run_dir/fuzz
mkdir -p "$found"

# Only our own crates are instrumented; everything else is used as `make test` built it.
step fuzz "building the targets"
RUSTC_WORKSPACE_WRAPPER=$root/scripts/coverage-rustc.sh cargo build --locked -p fuzz --features libfuzzer --bin fuzz

targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
    for folder in tests/fuzz/corpus/*/; do targets+=("$(basename "$folder")"); done
fi
broken=()
for name in "${targets[@]}"; do
    mkdir -p "$found/$name"
    log=$found/$name.log
    if FUZZ_TARGET=$name target/debug/fuzz "$found/$name" "tests/fuzz/corpus/$name" -max_total_time="$seconds" -timeout=10 \
        -rss_limit_mb=2048 -artifact_prefix="$found/$name-" -print_final_stats=1 >"$log" 2>&1; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
        covered=$(sed -n 's/.*cov: \([0-9]*\).*/\1/p' "$log" | tail -1)
        if [ "${runs:-0}" -eq 0 ] || [ "${covered:-0}" -eq 0 ]; then die "$name ran nothing; see $log"; fi
        step "$name" "$runs inputs, $covered places of the code reached, no promise broken"
    else
        broken+=("$name")
        step "$name" "BROKEN, see below"
    fi
done
for name in "${broken[@]}"; do
    say ""
    step "$name" "BROKEN: repeat with FUZZ_TARGET=$name target/debug/fuzz $found/$name-…, or with this input in Base64"
    # The machine may be discarded with the file, so the output must contain everything needed to
    # repeat it.
    grep -aE -A1 'panicked at|SUMMARY|Base64:' "$found/$name.log" | cut -c1-2000 >&2
done
[ ${#broken[@]} -eq 0 ]
