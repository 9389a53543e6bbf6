#!/usr/bin/env bash
# The tests of tests/faults.md, one row per fault: the number of times it happened, and the result
# of its invariant.
set -euo pipefail

dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/clone.sh
. "$dir/clone.sh"

# A fault in a weaker form than its row says is none of this table.
unset GATEWAY_TEST_WEAKER
log=$run_dir/log/faults.log
mkdir -p "$run_dir/log"
export GATEWAY_TEST_SEED=${GATEWAY_TEST_SEED:-$RANDOM}
# Sizes that `make test` has no time for.
export GATEWAY_TEST_ROWS=${GATEWAY_TEST_ROWS:-10000000} GATEWAY_TEST_ROUNDS=${GATEWAY_TEST_ROUNDS:-10000}
export GATEWAY_TEST_CHAINS=${GATEWAY_TEST_CHAINS:-1000} GATEWAY_TEST_SEEDS=${GATEWAY_TEST_SEEDS:-1000}
export GATEWAY_TEST_PAYOUT_ROWS=${GATEWAY_TEST_PAYOUT_ROWS:-2000} GATEWAY_TEST_DEADLINES=${GATEWAY_TEST_DEADLINES:-100000}
export GATEWAY_TEST_FROZEN_SECONDS=${GATEWAY_TEST_FROZEN_SECONDS:-60} GATEWAY_TEST_HANGING=${GATEWAY_TEST_HANGING:-1000}

# fault | what happens | invariant | tests
rows() { sed -n 's/^| \(F[0-9]*\) \([^|]*\) | \([^|]*\) | \(.*\) |$/\1|\2|\3|\4/p' "$root/tests/faults.md"; }
# shellcheck disable=SC2016 # the backquotes are Markdown's
names() { grep -o '`[^`]*`' | tr -d '`'; }

step faults "every fault at its full size, which takes more than an hour on two cores; GATEWAY_TEST_SEEDS=250 GATEWAY_TEST_CHAINS=250 make it 35 minutes; seed $GATEWAY_TEST_SEED"
mapfile -t wanted < <(rows | names | sort -u)
outcome=0
FIRST_TRY_COUNTS=1 "$dir/test.sh" --workspace --test it -- --exact --show-output "${wanted[@]}" 2>&1 | tee "$log" || outcome=1

# Number of times that a test saw a fault happen, as it reports that: for all its rows, or by the
# fault if it is in several.
times_of() {
    awk -v name="$1" -v fault="$2" '
        /^---- .* stdout ----$/ { own = ($2 == name) }
        own && /^fired [0-9]+$/ { sum += $2 }
        own && /^fired F[0-9]+ [0-9]+$/ && $2 == fault { sum += $3 }
        END { print sum + 0 }' "$log"
}

printf '\n%-6s%-62s%9s  %-8s%s\n' fault what fired outcome invariant
json=""
unproven=()
while IFS='|' read -r fault what invariant tests; do
    fired=0 holds=true
    for name in $(names <<<"$tests"); do
        times=$(times_of "$name" "$fault")
        fired=$((fired + times))
        if ! grep -qx "test $name \.\.\. ok" "$log"; then
            holds=false
        elif [ "$times" -eq 0 ]; then
            # It passed, but proved nothing.
            holds=false
            unproven+=("$fault: $name never saw its fault happen")
        fi
    done
    if [ "$holds" = true ]; then said=holds; else said=FAILED outcome=1; fi
    printf '%-6s%-62s%9d  %-8s%s\n' "$fault" "$what" "$fired" "$said" "$invariant"
    json+=$(printf '%s{"fault":"%s","fired":%d,"invariant":"%s","holds":%s,"seed":%d,"log":".run/log/faults.log"}' \
        "${json:+,}" "$fault" "$fired" "$invariant" "$holds" "$GATEWAY_TEST_SEED")
done < <(rows)
printf '[%s]\n' "$json" >"$run_dir/faults.json"
say ""
for line in "${unproven[@]}"; do say "$line"; done
say "The whole output is in .run/log/faults.log, the table for programs in .run/faults.json."
exit "$outcome"
