# shellcheck shell=bash
# Starts, watches and stops this clone's own programs. Sourced by up.sh, down.sh and run.sh after
# clone.sh.
# shellcheck disable=SC2154,SC2034 # clone.sh sets root and run_dir; the callers use stack_env and set env_file

target_dir=${CARGO_TARGET_DIR:-$root/target}
bin_dir=$target_dir/release
stack_env=$run_dir/stack.env
programs='gateway-api gateway-worker gateway-dashboard'
# Started by `make run` beside them.
extras='demo-shop'

# Prints the process id of program $1 if it is the one started here: a process that reuses the id
# runs another file.
program_pid() {
    local pid
    pid=$(cat "$run_dir/pid/$1" 2>/dev/null) || return 1
    [[ $(process_arguments "$pid") == "$bin_dir/$1"* ]] || return 1
    echo "$pid"
}

programs_run() {
    local name
    for name in $programs; do program_pid "$name" >/dev/null || return 1; done
}

# Starts program $1 with the arguments after it, detached from this terminal: Ctrl-C must not reach
# it before this script.
program_start() {
    local name=$1
    mkdir -p "$run_dir/pid" "$run_dir/log"
    (
        set -a
        # shellcheck source=/dev/null
        . "$env_file"
        cd "$root" || exit
        exec setsid "$bin_dir/$name" "${@:2}"
    ) >"$run_dir/log/$name.log" 2>&1 9>&- </dev/null &
    echo $! >"$run_dir/pid/$name"
}

programs_stop() {
    local name pid
    for name in $extras $programs; do
        if pid=$(program_pid "$name"); then kill -TERM "$pid" 2>/dev/null || true; fi
    done
    for name in $extras $programs; do
        if pid=$(program_pid "$name"); then
            step "$name" "stopping"
            wait_for 30 process_gone "$pid" || kill -KILL "$pid" 2>/dev/null || true
        fi
        rm -f "$run_dir/pid/$name"
    done
}

program_ready() { curl -fsS --max-time 2 "$1/readyz"; }

# Waits until program $1 responds on its metrics address $2; prints the reason if it does not.
program_await() {
    local name=$1 url=$2 deadline=$((SECONDS + 60)) reason="is not ready after 60 seconds"
    while [ "$SECONDS" -lt "$deadline" ]; do
        if program_ready "$url" >/dev/null 2>&1; then return 0; fi
        program_pid "$name" >/dev/null || { reason="has stopped" && break; }
        sleep 0.1
    done
    tail -n 30 "$run_dir/log/$name.log" >&2
    say "$(curl -sS --max-time 2 "$url/readyz" 2>&1 | head -c 2000)"
    die "$name $reason; its log ($run_dir/log/$name.log) ends as above"
}
