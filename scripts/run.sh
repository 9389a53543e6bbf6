#!/usr/bin/env bash
# The sandbox in the foreground: starts it, takes one invoice through its life, stays until Ctrl-C,
# stops everything.
set -euo pipefail

dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/clone.sh
. "$dir/clone.sh"
# shellcheck source=scripts/programs.sh
. "$dir/programs.sh"

# shellcheck disable=SC2317 # called by the trap
# A second Ctrl-C must not leave half of it running.
stop_all() {
    trap '' INT TERM HUP
    say ""
    "$dir/down.sh" || say "make down could not stop everything; see $run_dir/log"
}

demo() {
    (
        set -a
        # shellcheck source=/dev/null
        . "$stack_env"
        exec "$bin_dir/gatewayctl" demo
    )
}

# A link that signs account $1 in once, as $2; what follows are further arguments of its creation.
sign_in_link() {
    (
        set -a
        # shellcheck source=/dev/null
        . "$stack_env"
        # The account may be there from an earlier run.
        "$bin_dir/gatewayctl" account create --email "$1" --role "${@:2}" >/dev/null 2>&1 || true
        "$bin_dir/gatewayctl" --json account login-link --email "$1" | sed -E 's/.*"url": ?"([^"]*)".*/\1/'
    )
}

# The ways into the dashboard, for an operator and for the owner of the shop with the id $1.
sign_in_links() {
    say ""
    say "  The dashboard; each link works once, within ten minutes (gatewayctl account login-link makes another):"
    say "    operator    $(sign_in_link operator@demo.example operator-admin)"
    say "    shop owner  $(sign_in_link owner@demo.example owner --merchant "$1")"
}

# The shop's merchant, with its key and its secret: made once, as both are shown only then.
shop_merchant() {
    local kept=$run_dir/demo-shop.json
    (
        set -a
        # shellcheck source=/dev/null
        . "$stack_env"
        if ! [ -s "$kept" ] || ! "$bin_dir/gatewayctl" merchant show "$(merchant_id "$(cat "$kept")")" >/dev/null 2>&1; then
            umask 077
            "$bin_dir/gatewayctl" --json merchant create --name "Corner Roastery" >"$kept"
        fi
    )
    cat "$kept"
}

merchant_id() { sed -E 's/.*"merchant_id": ?"([^"]*)".*/\1/' <<<"$1"; }

# A month of orders, so that the dashboard's charts show something.
seed_history() {
    (
        set -a
        # shellcheck source=/dev/null
        . "$stack_env"
        "$bin_dir/gatewayctl" simulate history --merchant "$1" --ipn-url "http://$2/ipn" >"$run_dir/log/history.log" 2>&1
    ) || say "  no history was written: $(tail -n 1 "$run_dir/log/history.log")"
}

# A shop with the checkout's widget in its page, with a merchant of its own.
start_shop() {
    local listen merchant
    listen=127.0.0.1:$(port shop 4)
    env_file=$stack_env
    merchant=$(shop_merchant)
    seed_history "$(merchant_id "$merchant")" "$listen"
    sign_in_links "$(merchant_id "$merchant")"
    SHOP_LISTEN=$listen SHOP_MERCHANT=$merchant program_start demo-shop
    wait_for 20 curl -fsS --max-time 2 "http://$listen/" || {
        tail -n 30 "$run_dir/log/demo-shop.log" >&2
        die "the demo shop did not start; its log ends as above"
    }
    say ""
    say "  A shop to buy from, with the checkout in its page: http://$listen"
    payment_links "http://$listen"
}

# One payment link of each kind, from the shop at $1.
payment_links() {
    say "  Its payment links, which need no server (a month of the subscription takes a minute here; its reminders: $1/club;"
    say "  the till's address makes one browser its device, within 15 minutes):"
    curl -fsS --max-time 5 "$1/links.txt" | sed 's/^/    /'
}

trap stop_all EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

"$dir/up.sh"
demo
start_shop
say ""
say "Ctrl-C stops everything."
while programs_run; do
    # In the background, as bash runs a trap only between foreground commands.
    sleep 1 &
    wait $!
done
for name in $programs; do
    if ! program_pid "$name" >/dev/null; then
        tail -n 30 "$run_dir/log/$name.log" >&2
        say "error: $name has stopped; its log ends as above"
    fi
done
exit 1
