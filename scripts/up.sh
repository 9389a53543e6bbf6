#!/usr/bin/env bash
# Builds the gateway and starts its sandbox in the background; returns when it is healthy. Safe to
# repeat.
set -euo pipefail

dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/clone.sh
. "$dir/clone.sh"
# shellcheck source=scripts/programs.sh
. "$dir/programs.sh"

# A quicker build than the one that is delivered; PROFILE=release builds that one.
profile=${PROFILE:-sandbox}

# Programs are found in target/release, whatever profile built them. A link replaces the old file
# and never writes into it: it may be cargo's own link to the product of `cargo build --release`,
# which makes its links anew the next time.
publish() {
    local name built=$target_dir/$profile
    [ "$built" != "$bin_dir" ] || return 0
    mkdir -p "$bin_dir"
    for name in gatewayctl $programs $extras; do
        ln -f "$built/$name" "$bin_dir/$name" 2>/dev/null ||
            { cp "$built/$name" "$bin_dir/$name.new" && mv -f "$bin_dir/$name.new" "$bin_dir/$name"; }
    done
}

build() {
    need cargo "build the gateway (https://rustup.rs)"
    need cc "link the gateway (a C compiler: package build-essential on Debian)"
    step build "the programs, profile $profile"
    (cd "$root" && cargo build --profile "$profile" --locked -p gateway -p gateway-api -p gateway-workers -p gateway-dashboard -p demo-shop --bins) 9>&- >&2
    publish
}

# Build and servers that a running stack was started with; a change of either means a restart.
fingerprint() {
    local name
    for name in gatewayctl $programs; do cksum "$bin_dir/$name"; done
    printf '%s\n' "$services"
}

write_environment() {
    local api checkout api_metrics worker_metrics dashboard dashboard_metrics
    api=127.0.0.1:$(port api 0)
    checkout=127.0.0.1:$(port checkout 1)
    api_metrics=127.0.0.1:$(port api-metrics 2)
    worker_metrics=127.0.0.1:$(port worker-metrics 3)
    dashboard=$(port dashboard 5)
    dashboard_metrics=127.0.0.1:$(port dashboard-metrics 6)
    (
        umask 077
        cat >"$env_file" <<ENV
GATEWAY_BASE_URL=http://$api
GATEWAY_CHECKOUT_URL=http://$checkout
GATEWAY_DASHBOARD_URL=http://localhost:$dashboard
GATEWAY_METRICS_URL=http://$api_metrics
GATEWAY_WORKER_METRICS_URL=http://$worker_metrics
GATEWAY_DASHBOARD_METRICS_URL=http://$dashboard_metrics
$services
GATEWAY_PROFILE=sandbox
GATEWAY_MASTER_KEY=$(secret master-key 32)
GATEWAY_API__LISTEN=$api
GATEWAY_CHECKOUT__LISTEN=$checkout
GATEWAY_API__METRICS_LISTEN=$api_metrics
GATEWAY_WORKER__METRICS_LISTEN=$worker_metrics
GATEWAY_DASHBOARD__LISTEN=127.0.0.1:$dashboard
GATEWAY_DASHBOARD__METRICS_LISTEN=$dashboard_metrics
GATEWAY_EGRESS__ALLOW_PRIVATE=true
RUST_LOG=${RUST_LOG:-info}
ENV
    )
}

ctl() {
    local log=$run_dir/log/gatewayctl.log
    (
        set -a
        # shellcheck source=/dev/null
        . "$env_file"
        exec "$bin_dir/gatewayctl" "$@"
    ) >"$log" 2>&1 9>&- </dev/null || {
        tail -n 30 "$log" >&2
        die "gatewayctl $1 ${2:-} failed; its output ends as above"
    }
}

prepare() {
    step database "migrating"
    ctl migrate
    step broker "applying the topology"
    ctl topology apply
    step addresses "filling the pools of the chains whose addresses cannot be derived from public keys"
    ctl addresses fill --network solana --count 1000
    ctl addresses fill --network near --count 1000
}

start_programs() {
    step api "starting on $(setting GATEWAY_BASE_URL "$run_dir/starting.env")"
    program_start gateway-api
    step worker "starting all roles"
    program_start gateway-worker all
    step dashboard "starting on $(setting GATEWAY_DASHBOARD_URL "$run_dir/starting.env")"
    program_start gateway-dashboard
}

setting() { sed -n "s/^$1=//p" "$env_file"; }

await_programs() {
    program_await gateway-api "$(setting GATEWAY_METRICS_URL)"
    program_await gateway-worker "$(setting GATEWAY_WORKER_METRICS_URL)"
    program_await gateway-dashboard "$(setting GATEWAY_DASHBOARD_METRICS_URL)"
}

report() {
    say ""
    say "The sandbox is up."
    say "  API        $(setting GATEWAY_BASE_URL)"
    say "  checkout   $(setting GATEWAY_CHECKOUT_URL)"
    say "  dashboard  $(setting GATEWAY_DASHBOARD_URL)   (to sign in: gatewayctl account create, then login-link)"
    if [ -n "$(setting RABBITMQ_UI_URL)" ]; then
        say "  queues     $(setting RABBITMQ_UI_URL)   (user $(setting RABBITMQ_UI_USER), password in .run/stack.env)"
    fi
    say "  settings   .run/stack.env   (set -a; . .run/stack.env; target/release/gatewayctl --help)"
    say "  logs       .run/log"
}

# A stack that started only partly is stopped again, so that the next attempt starts from nothing.
# shellcheck disable=SC2317 # called by the trap
stop_unfinished() {
    if [ ! -s "$stack_env" ]; then programs_stop; fi
}

need curl "check the health of what is started"
"$dir/services.sh" start
services=$("$dir/services.sh" env stack)
lock_clone
build
current=$(fingerprint)
if programs_run && [ -s "$stack_env" ] && [ "$current" = "$(cat "$run_dir/stack.fingerprint" 2>/dev/null)" ]; then
    env_file=$stack_env
    # The broker may have lost its data since.
    ctl topology apply
    await_programs
    say "The sandbox was already up."
else
    programs_stop
    rm -f "$stack_env"
    trap stop_unfinished EXIT
    env_file=$run_dir/starting.env
    write_environment
    prepare
    start_programs
    await_programs
    (umask 077 && printf '%s\n' "$current" >"$run_dir/stack.fingerprint")
    # Last, so that readers of the file may rely on it.
    mv "$env_file" "$stack_env"
    env_file=$stack_env
fi
report
