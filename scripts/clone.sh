# shellcheck shell=bash
# Names, folders, ports and passwords of this clone, so that two clones can run side by side.
# Sourced by the other scripts; does nothing by itself.
# shellcheck disable=SC2034 # most variables are for those scripts

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
run_dir=$root/.run
state_file=$run_dir/services.env
clone_id=$(printf '%s' "$root" | cksum | awk '{ printf "%08x", $1 }')
# Below the kernel's ephemeral range (32768 and up), fifty ports per clone.
port_base=$((17000 + 16#$clone_id % 300 * 50))

say() { printf '%s\n' "$*" >&2; }
step() { printf '  %-11s %s\n' "$1" "$2" >&2; }
die() {
    say "error: $*"
    exit 1
}

need() {
    command -v "$1" >/dev/null || die "'$1' is not installed; it is needed to $2"
}

# One script at a time changes this clone's services. Descriptor 9 must be closed for every daemon
# (`9>&-`), or the daemon would hold the lock for as long as it lives.
lock_clone() {
    mkdir -p "$run_dir/log"
    command -v flock >/dev/null || return 0
    exec 9>"$run_dir/lock"
    flock -w 900 9 || die "another make up, run or test of this clone has held $run_dir/lock for 15 minutes"
}

random_hex() { od -An -tx1 -N"$1" /dev/urandom | tr -d ' \n'; }

# Prints the secret called $1, $2 bytes long; makes it on first use.
secret() {
    local file=$run_dir/secret/$1
    if [ ! -s "$file" ]; then
        (umask 077 && mkdir -p "$run_dir/secret" && random_hex "${2:-16}" >"$file")
    fi
    cat "$file"
}

listening() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# Prints the port called $1: the one it had last time, else the first free one from base + $2. Ports
# that answer belong to other programs (callers stop their own first) and are skipped.
port() {
    local name=$1 file=$run_dir/ports others candidate
    others=$(grep -v "^$name=" "$file" 2>/dev/null || true)
    candidate=$(sed -n "s/^$name=//p" "$file" 2>/dev/null || true)
    : "${candidate:=$((port_base + $2))}"
    while listening "$candidate" || [[ $others$'\n' == *"=$candidate"$'\n'* ]]; do
        candidate=$((candidate + 1))
        [ "$candidate" -lt $((port_base + 500)) ] || die "no free port found from $port_base upwards"
    done
    printf '%s\n' ${others:+"$others"} "$name=$candidate" >"$file.next"
    mv "$file.next" "$file"
    echo "$candidate"
}

# The command line of process $1. Small images have no ps, other systems no /proc.
process_arguments() {
    if [ -d /proc/self ]; then
        tr '\0' ' ' <"/proc/$1/cmdline"
    else
        ps -ww -o args= -p "$1"
    fi 2>/dev/null
}

# A zombie process counts as gone; it has no command line any more.
process_gone() { [ -z "$(process_arguments "$1" || true)" ]; }

# Waits up to $1 seconds for the command that follows.
wait_for() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$deadline" ] || return 1
        sleep 0.2
    done
}

# Installs Debian packages without letting them start a server of their own.
apt_install() {
    local policy=/usr/sbin/policy-rc.d made_policy=no status=0
    step packages "installing $*"
    if [ ! -e "$policy" ]; then
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod +x "$policy"
        made_policy=yes
    fi
    # Read by Debian's PostgreSQL package: no system-wide cluster beside the private one.
    if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
        mkdir -p /etc/postgresql-common
        echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
    fi
    {
        apt-get update -q &&
            DEBIAN_FRONTEND=noninteractive UCF_FORCE_CONFFOLD=1 \
                apt-get install -y -q --no-install-recommends -o Dpkg::Options::=--force-confold "$@"
    } >"$run_dir/log/apt.log" 2>&1 9>&- </dev/null || status=$?
    [ "$made_policy" = no ] || rm -f "$policy"
    [ "$status" = 0 ] || die "apt-get could not install $*; see $run_dir/log/apt.log"
}

can_apt_install() { [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; }

docker_answers() {
    command -v docker >/dev/null && timeout 5 docker info >/dev/null 2>&1 &&
        timeout 5 docker compose version >/dev/null 2>&1
}

compose() {
    docker compose --project-name "gateway-$clone_id" --env-file "$run_dir/compose.env" \
        --file "$root/docker-compose.yml" "$@" 9>&-
}

# What the first two services of the compose file read, written once: a later change of a password
# would not change the volumes.
write_compose_env() {
    # One without a folder is of an earlier commit.
    ! grep -qs '^SECRETS=' "$run_dir/compose.env" || return 0
    (
        umask 077
        printf '%s' "$(secret postgres)" >"$run_dir/secret/postgres-password"
        printf '%s' "$(secret broker-admin)" >"$run_dir/secret/rabbitmq-admin-password"
        cat >"$run_dir/compose.env" <<ENV
SECRETS=$run_dir/secret
POSTGRES_PORT=$(port postgres 10)
RABBITMQ_PORT=$(port amqp 20)
RABBITMQ_MANAGEMENT_PORT=$(port management 21)
ENV
    )
}
