# shellcheck shell=bash
# Finds or starts PostgreSQL. Sourced by services.sh after clone.sh; sets postgres_kind and
# postgres_url (no database).
# shellcheck disable=SC2154 # clone.sh sets root, run_dir, clone_id

postgres_database=gateway_$clone_id

# psql on URL $1 with statement $2: never asks for a password, never reads the user's own settings.
psql_at() {
    env -u PGPASSWORD -u PGHOST -u PGPORT -u PGUSER -u PGDATABASE -u PGOPTIONS PGPASSFILE=/nonexistent PGCONNECT_TIMEOUT=3 \
        psql -w -X -q -A -t -v ON_ERROR_STOP=1 -d "$1" -c "$2" 9>&-
}

postgres_free="current_setting('max_connections')::int - (select count(*) from pg_stat_activity)"

# fsync must be on: a server that loses confirmed data must not hold money, not even in a trial. And
# a stack with its watchers takes some 35 connections, tests of whole stacks as many each: other
# users must leave enough.
postgres_suits() {
    local answer
    answer=$(psql_at "$1/postgres" "select (rolcreatedb or rolsuper) and current_setting('fsync') = 'on'
        and current_setting('server_version_num')::int >= 140000 and $postgres_free >= 80
        from pg_roles where rolname = current_user" 2>/dev/null)
    [ "$answer" = t ]
}

# Prints the number of further connections that the tests' server would accept.
postgres_room() { postgres_run_tests "select $postgres_free"; }

postgres_find() {
    command -v psql >/dev/null || return 1
    local me url
    me=${USER:-$(id -un)}
    for url in "postgres://$me@127.0.0.1:5432" "postgres://postgres@127.0.0.1:5432" \
        "postgres://$me@%2Fvar%2Frun%2Fpostgresql:5432" "postgres://postgres@%2Fvar%2Frun%2Fpostgresql:5432"; do
        if postgres_suits "$url"; then
            postgres_kind=found postgres_url=$url
            return 0
        fi
    done
    return 1
}

# Root may not run PostgreSQL, and user postgres may not see a clone below /root: then the folder
# lies outside.
postgres_home() {
    if [ "$(id -u)" = 0 ]; then echo "/var/tmp/gateway-$clone_id"; else echo "$run_dir/postgres"; fi
}

# Where the cluster of the tests lies if the machine has the memory for it.
postgres_memory() { echo "/dev/shm/gateway-$clone_id"; }

as_postgres() {
    if [ "$(id -u)" = 0 ]; then
        (cd / && runuser -u postgres -- "$@") 9>&- </dev/null
    else
        "$@" 9>&- </dev/null
    fi
}

# Prints the folder of the newest installed server's programs.
postgres_bin() {
    local dir
    for dir in $(printf '%s\n' /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /opt/homebrew/opt/postgresql@*/bin \
        /usr/local/opt/postgresql@*/bin | sort -rV); do
        [ ! -x "$dir/initdb" ] || { echo "$dir" && return; }
    done
    dir=$(command -v initdb) && dirname "$dir"
}

# Prints the newest installed server's programs' folder, after installing them if this user may.
postgres_programs() {
    postgres_bin && return
    can_apt_install || die "no PostgreSQL found: start one on 127.0.0.1:5432, install Docker, or install PostgreSQL's server programs"
    apt_install postgresql postgresql-client
    postgres_bin || die "the installed PostgreSQL has no initdb"
}

# Makes the folder $1 for the user that runs the servers. Its name is predictable and others may
# write beside it: an existing folder must be ours.
postgres_make_folder() {
    if [ "$(id -u)" != 0 ]; then
        (umask 077 && mkdir -p "$1")
        if [ -L "$1" ] || [ ! -O "$1" ]; then die "$1 belongs to somebody else"; fi
        return
    fi
    mkdir -m 700 "$1" 2>/dev/null || [ "$(stat -c %U "$1")" = postgres ] || die "$1 belongs to somebody else"
    chown postgres: "$1"
}

# $1: the programs' folder; $2: the cluster's name; $3: how its users prove who they are.
postgres_create_cluster() {
    local bin=$1 home
    home=$(postgres_home)
    step postgres "creating a private cluster in $home/$2"
    postgres_make_folder "$home"
    if [ "$(id -u)" = 0 ]; then
        printf '%s\n' "$(secret postgres)" | runuser -u postgres -- sh -c "umask 077; cat >'$home/password'"
    else
        (umask 077 && printf '%s\n' "$(secret postgres)" >"$home/password")
    fi
    as_postgres "$bin/initdb" -D "$home/$2" -U gateway --pwfile "$home/password" --auth "$3" \
        --encoding UTF8 --locale C.UTF-8 >"$run_dir/log/initdb.log" 2>&1 ||
        die "initdb failed; see $run_dir/log/initdb.log"
}

# Starts the private cluster $1 unless it runs, and prints its port. Arguments: the cluster's name,
# how far its port lies from the clone's first one, how users prove who they are, and settings of
# its server.
postgres_start_cluster() {
    local name=$1 offset=$2 login=$3 options bin home port
    shift 3
    options="-c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c max_connections=300 $*"
    home=$(postgres_home)
    bin=$(postgres_programs) || exit
    as_postgres test -s "$home/$name/PG_VERSION" || postgres_create_cluster "$bin" "$name" "$login"
    if as_postgres "$bin/pg_ctl" -D "$home/$name" status >/dev/null 2>&1; then
        as_postgres sed -n 4p "$home/$name/postmaster.pid"
        return
    fi
    port=$(port "postgres-$name" "$offset")
    step postgres "starting a private server on port $port"
    as_postgres "$bin/pg_ctl" -D "$home/$name" -l "$home/$name.log" -w -t 60 -o "-p $port $options" start >/dev/null 2>&1 || {
        as_postgres tail -n 20 "$home/$name.log" >&2 || true
        die "the private PostgreSQL did not start; its log ($home/$name.log) ends as above"
    }
    echo "$port"
}

postgres_start_private() {
    local port
    port=$(postgres_start_cluster data 10 scram-sha-256) || exit
    postgres_kind=private postgres_url=postgres://gateway:$(secret postgres)@127.0.0.1:$port
}

# Puts the cluster of the tests into memory if there are 4 GB of it. Each of a thousand databases is
# 900 files, made and deleted, and ext4 searches long for an inode that was not freed within the last
# five seconds: 8 % of the machine's time in a profile of the payout tests.
postgres_tests_in_memory() {
    local home memory free
    home=$(postgres_home)
    memory=$(postgres_memory)
    if as_postgres test -s "$home/tests/PG_VERSION"; then return; fi
    # Kilobytes; in a container /dev/shm is small.
    free=$({
        df -k --output=avail /dev/shm | tail -n 1
        sed -n 's/^MemAvailable: *\([0-9]*\) kB$/\1/p' /proc/meminfo
    } 2>/dev/null | sort -n | head -n 1) || true
    [ "${free:-0}" -ge $((4 << 20)) ] || return 0
    postgres_make_folder "$home"
    postgres_make_folder "$memory"
    as_postgres ln -sfn "$memory" "$home/tests"
}

# A server for tests alone, which create and drop a database each: waiting for the disk took half of
# a small test's time. What they kill are processes, and the kernel keeps what a process wrote; the
# tests that take a server's disk away run servers of their own. Passwords go over the loopback as
# they are, since SCRAM's 4,096 hashes for each connection are slow in an unoptimised test program.
# Without installed server programs tests share the stack's server.
postgres_start_tests() {
    local port name=${postgres_database}_test
    postgres_bin >/dev/null || return 0
    postgres_tests_in_memory
    port=$(postgres_start_cluster tests 11 password -c fsync=off -c full_page_writes=off) || exit
    postgres_tests_url=postgres://gateway:$(secret postgres)@127.0.0.1:$port
    [ "$(postgres_run_tests "select 1 from pg_database where datname = '$name'")" = 1 ] ||
        postgres_run_tests "create database $name template template0 encoding 'UTF8'"
}

postgres_start_docker() {
    write_compose_env
    step postgres "starting the container of docker-compose.yml"
    compose up --detach --wait postgres >"$run_dir/log/compose.log" 2>&1 ||
        die "docker compose could not start postgres; see $run_dir/log/compose.log"
    local port
    port=$(sed -n 's/^POSTGRES_PORT=//p' "$run_dir/compose.env")
    postgres_kind=docker postgres_url=postgres://gateway:$(secret postgres)@127.0.0.1:$port
}

# Runs statement $1 on the server; in the container if there is one, as the host may have no psql
# then. The server asks for the password there too.
postgres_run() {
    if [ "$postgres_kind" = docker ]; then
        # shellcheck disable=SC2016 # expanded in the container
        compose exec -T postgres sh -c 'PGPASSWORD=$(cat /run/secrets/postgres-password) exec psql "$@"' psql \
            -X -q -A -t -v ON_ERROR_STOP=1 -U gateway -d postgres -c "$1" </dev/null
    else
        psql_at "$postgres_url/postgres" "$1"
    fi
}

# Runs statement $1 on the server of the tests.
postgres_run_tests() {
    if [ -n "$postgres_tests_url" ]; then psql_at "$postgres_tests_url/postgres" "$1"; else postgres_run "$1"; fi
}

# Returns success if the server of the last run still responds.
postgres_answers() {
    [ -n "$postgres_kind" ] && postgres_run 'select 1' >/dev/null 2>&1
}

postgres_create_databases() {
    local name
    for name in "$postgres_database" "${postgres_database}_test"; do
        [ "$(postgres_run "select 1 from pg_database where datname = '$name'")" = 1 ] ||
            postgres_run "create database $name template template0 encoding 'UTF8'"
    done
}

# A private cluster is restarted rather than searched again: it holds the rows of the last run.
postgres_start() {
    if postgres_answers; then return 0; fi
    if [ "$postgres_kind" = private ]; then
        postgres_start_private
    elif postgres_find; then
        step postgres "using the server at ${postgres_url#*@}, database $postgres_database"
    elif docker_answers; then
        postgres_start_docker
    else
        postgres_start_private
    fi
    postgres_create_databases
}

postgres_stop() {
    local home bin name
    home=$(postgres_home)
    if [ "$postgres_kind" = docker ]; then compose stop postgres >/dev/null 2>&1 || true; fi
    bin=$(postgres_bin) || return 0
    for name in data tests; do
        if as_postgres "$bin/pg_ctl" -D "$home/$name" status >/dev/null 2>&1; then
            step postgres "stopping the private server in $home/$name"
            as_postgres "$bin/pg_ctl" -D "$home/$name" -m fast -w -t 60 stop >/dev/null
        fi
    done
}

# Databases of interrupted tests and benchmarks. One in use belongs to a run that is still active.
postgres_forget_tests() {
    local name run
    for run in postgres_run ${postgres_tests_url:+postgres_run_tests}; do
        for name in $("$run" "select datname from pg_database where datname ~ '^${postgres_database}_test_'
            and datname not in (select datname from pg_stat_activity where datname is not null)"); do
            "$run" "drop database if exists \"$name\"" 2>/dev/null || true
        done
    done
}

# Drops everything that this clone made: on a shared server its databases, otherwise the whole
# private server.
postgres_clean() {
    local name
    if [ "$postgres_kind" = found ] && postgres_answers; then
        for name in $(postgres_run "select datname from pg_database where datname ~ '^${postgres_database}(_|\$)'"); do
            step postgres "dropping database $name"
            postgres_run "drop database if exists \"$name\" with (force)"
        done
    fi
    postgres_stop
    rm -rf -- "$(postgres_home)" "$(postgres_memory)"
}
