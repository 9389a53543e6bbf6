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

# Prints the number of further connections that the server would accept.
postgres_room() { postgres_run "select $postgres_free"; }

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

postgres_create_cluster() {
    local bin=$1 home=$2
    step postgres "creating a private cluster in $home"
    if [ "$(id -u)" = 0 ]; then
        # The name is predictable and /var/tmp is writable by all users: an existing folder must be
        # ours.
        mkdir -m 700 "$home" 2>/dev/null || [ "$(stat -c %U "$home")" = postgres ] || die "$home belongs to somebody else"
        chown postgres: "$home"
        printf '%s\n' "$(secret postgres)" | runuser -u postgres -- sh -c "umask 077; cat >'$home/password'"
    else
        (umask 077 && mkdir -p "$home" && printf '%s\n' "$(secret postgres)" >"$home/password")
    fi
    as_postgres "$bin/initdb" -D "$home/data" -U gateway --pwfile "$home/password" --auth scram-sha-256 \
        --encoding UTF8 --locale C.UTF-8 >"$run_dir/log/initdb.log" 2>&1 ||
        die "initdb failed; see $run_dir/log/initdb.log"
}

postgres_start_private() {
    local bin home port
    home=$(postgres_home)
    if ! bin=$(postgres_bin); then
        can_apt_install || die "no PostgreSQL found: start one on 127.0.0.1:5432, install Docker, or install PostgreSQL's server programs"
        apt_install postgresql postgresql-client
        bin=$(postgres_bin) || die "the installed PostgreSQL has no initdb"
    fi
    as_postgres test -s "$home/data/PG_VERSION" || postgres_create_cluster "$bin" "$home"
    if as_postgres "$bin/pg_ctl" -D "$home/data" status >/dev/null 2>&1; then
        port=$(as_postgres sed -n 4p "$home/data/postmaster.pid")
    else
        port=$(port postgres 10)
        step postgres "starting a private server on port $port"
        as_postgres "$bin/pg_ctl" -D "$home/data" -l "$home/log" -w -t 60 \
            -o "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c max_connections=300" \
            start >/dev/null 2>&1 || {
            as_postgres tail -n 20 "$home/log" >&2 || true
            die "the private PostgreSQL did not start; its log ($home/log) ends as above"
        }
    fi
    postgres_kind=private postgres_url=postgres://gateway:$(secret postgres)@127.0.0.1:$port
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
# then.
postgres_run() {
    if [ "$postgres_kind" = docker ]; then
        compose exec -T postgres psql -X -q -A -t -v ON_ERROR_STOP=1 -U gateway -d postgres -c "$1" </dev/null
    else
        psql_at "$postgres_url/postgres" "$1"
    fi
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
    local home bin
    home=$(postgres_home)
    if [ "$postgres_kind" = docker ]; then compose stop postgres >/dev/null 2>&1 || true; fi
    if [ "$postgres_kind" != private ]; then return 0; fi
    bin=$(postgres_bin) || return 0
    if as_postgres "$bin/pg_ctl" -D "$home/data" status >/dev/null 2>&1; then
        step postgres "stopping the private server"
        as_postgres "$bin/pg_ctl" -D "$home/data" -m fast -w -t 60 stop >/dev/null
    fi
}

# Databases of interrupted tests. One in use belongs to a test run that is still active.
postgres_forget_tests() {
    local name
    for name in $(postgres_run "select datname from pg_database where datname ~ '^${postgres_database}_test_'
        and datname not in (select datname from pg_stat_activity where datname is not null)"); do
        postgres_run "drop database if exists \"$name\"" 2>/dev/null || true
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
    if [ -d "$(postgres_home)/data" ]; then rm -rf -- "$(postgres_home)"; fi
}
