#!/usr/bin/env bash
# Fuzzes the targets of tests/fuzz, guided by coverage. Arguments: targets (default: all).
#
# Discovery, the default: SECONDS_EACH seconds for each target (default 15) from a fresh seed,
# beginning with the kept corpus and with what earlier runs found in .run/fuzz. Inputs that reach
# new code stay there; those that say something new belong into tests/fuzz/corpus. What breaks a
# promise is printed with the command that repeats it.
#
# --fixed, for CI: the kept corpus alone and a fixed number of inputs from a fixed seed. Two runs of
# one commit execute the same inputs, and the digest at the end of each line shows it.
set -euo pipefail

dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/clone.sh
. "$dir/clone.sh"
cd "$root"

need cargo "build the fuzz targets (https://rustup.rs)"
if ! command -v c++ >/dev/null && can_apt_install; then apt_install g++; fi
need c++ "build libFuzzer, the engine (a C++ compiler: package g++ on Debian)"

seconds=${SECONDS_EACH:-15}
FIXED_SEED=14
fixed=no
if [ "${1:-}" = --fixed ]; then
    fixed=yes
    shift
fi
found=$run_dir/fuzz
mkdir -p "$found"

# So many inputs that each target takes some ten seconds on one core; they differ a hundredfold in
# what an input costs.
fixed_runs() {
    case $1 in
        block) echo 100000 ;;
        recipients) echo 60000 ;;
        lifecycle) echo 150000 ;;
        body) echo 400000 ;;
        *) echo 1000000 ;;
    esac
}

# The kept inputs of target $1 in one order on every machine, as libFuzzer's -seed_inputs wants
# them.
kept_inputs() { find "tests/fuzz/corpus/$1" -type f | LC_ALL=C sort | paste -sd, -; }

discover() {
    FUZZ_TARGET=$1 target/debug/fuzz "$found/$1" "tests/fuzz/corpus/$1" -max_total_time="$seconds" -timeout=10 "${limits[@]}"
}

# libFuzzer's own sources of chance are switched off one by one: the order of a folder
# (-seed_inputs), looks at the output folder by the clock (-reload), and operands of comparisons,
# among which are addresses in memory (-use_cmp). The keys of hash tables, which change the
# coverage, are fixed by a library that is loaded first. -timeout is for inputs that hang, not for
# slow machines.
replay() {
    rm -rf "${found:?}/fixed/$1"
    mkdir -p "$found/fixed/$1"
    FUZZ_TARGET=$1 LD_PRELOAD=$found/fixed_random.so target/debug/fuzz "$found/fixed/$1" -seed_inputs="$(kept_inputs "$1")" \
        -runs="$(fixed_runs "$1")" -seed="$FIXED_SEED" -reload=0 -use_cmp=0 -timeout=120 "${limits[@]}"
}

# Names of new inputs are hashes of their bytes.
digest() { find "$found/fixed/$1" -type f -printf '%f\n' | LC_ALL=C sort | sha256sum | cut -c1-16; }

# Only our own crates are instrumented, so everything else is taken as `make test` built it. With
# `-p fuzz` alone the other crates would have fewer features and be built again.
step fuzz "building the targets"
RUSTC_WORKSPACE_WRAPPER=$root/scripts/coverage-rustc.sh \
    cargo build --locked --workspace --features fuzz/libfuzzer --bin fuzz

if [ "$fixed" = yes ]; then
    cc -shared -fPIC -O1 -o "$found/fixed_random.so" tests/fuzz/fixed_random.c
    step fuzz "a fixed number of inputs from seed $FIXED_SEED"
fi

targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
    for folder in tests/fuzz/corpus/*/; do targets+=("$(basename "$folder")"); done
fi
# Runs the target $1. A target keeps one core busy, so as many run at once as there are cores.
fuzz_target() {
    local name=$1 log=$found/$1.log run=discover runs covered said
    local limits=(-rss_limit_mb=2048 -artifact_prefix="$found/$1-" -print_final_stats=1)
    if [ "$fixed" = yes ]; then run=replay; fi
    mkdir -p "$found/$name"
    rm -f "$found/$name.broken"
    if "$run" "$name" >"$log" 2>&1; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
        covered=$(sed -n 's/.*cov: \([0-9]*\).*/\1/p' "$log" | tail -1)
        if [ "${runs:-0}" -eq 0 ] || [ "${covered:-0}" -eq 0 ]; then die "$name ran nothing; see $log"; fi
        said="$runs inputs, $covered places of the code reached, no promise broken"
        if [ "$fixed" = yes ]; then said+=", digest $(digest "$name")"; fi
        step "$name" "$said"
    else
        touch "$found/$name.broken"
        step "$name" "BROKEN, see below"
    fi
}

export -f fuzz_target discover replay fixed_runs kept_inputs digest step say die
export found fixed seconds FIXED_SEED
printf '%s\0' "${targets[@]}" | xargs -0 -P "$(nproc)" -I '{}' bash -c 'set -euo pipefail; fuzz_target {}'
broken=()
for name in "${targets[@]}"; do
    if [ -e "$found/$name.broken" ]; then broken+=("$name"); fi
done
for name in "${broken[@]}"; do
    say ""
    step "$name" "BROKEN: repeat with FUZZ_TARGET=$name target/debug/fuzz $found/$name-…, or with this input in Base64"
    # The file may be gone with the machine; what it takes to repeat it must not be.
    grep -aE -A1 'panicked at|SUMMARY|Base64:' "$found/$name.log" | cut -c1-2000 >&2
done
[ ${#broken[@]} -eq 0 ]
