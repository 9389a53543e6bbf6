#!/usr/bin/env bash
# Refreshes .sqlx, the description of the checked queries that the build uses without a database;
# with --check only compares.
#
# Does the same as `cargo sqlx prepare`, without having to install it: the query macros write one
# file per query when they expand against a live database. Here that is a scratch database with all
# migrations applied.
set -euo pipefail

dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/clone.sh
. "$dir/clone.sh"

need psql "apply the migrations to a scratch database (package postgresql-client on Debian)"
"$dir/services.sh" start tests
server=$("$dir/services.sh" env test | sed -n 's/^DATABASE_URL=//p')
scratch=gateway_${clone_id}_sqlx
fresh=${CARGO_TARGET_DIR:-$root/target}/sqlx
lock_clone

run_sql() {
    PGOPTIONS="-c client_min_messages=warning" psql -w -X -q -v ON_ERROR_STOP=1 -d "$1" "${@:2}" </dev/null
}

# The same server, another database. An address may end in parameters.
database_url() { sed -E "s#^([a-z]+://[^/?]*)(/[^?]*)?#\1/$1#" <<<"$server"; }

make_scratch() {
    local migration together
    run_sql "$server" -c "drop database if exists $scratch with (force)" -c "create database $scratch"
    for migration in "$root"/migrations/*.sql; do
        together=--single-transaction
        # An index that is built beside its table's users.
        if [ "$(head -n 1 "$migration")" = "-- no-transaction" ]; then together=; fi
        run_sql "$(database_url "$scratch")" ${together:+"$together"} -o /dev/null -f "$migration"
    done
}

expand_queries() {
    rm -rf "$fresh"
    mkdir -p "$fresh"
    # Cargo cannot know that the macros read a database: only a changed source makes it expand them
    # again. The whole workspace is named, so that other crates are taken as clippy checked them.
    touch "$root/src/lib.rs"
    (
        cd "$root"
        SQLX_OFFLINE=false SQLX_OFFLINE_DIR=$fresh DATABASE_URL=$(database_url "$scratch") \
            cargo check --locked --workspace --lib --bins --profile test
    )
    run_sql "$server" -c "drop database $scratch with (force)"
}

make_scratch
expand_queries
if [ "${1:-}" = --check ]; then
    mkdir -p "$root/.sqlx"
    if ! diff -r "$root/.sqlx" "$fresh" >"$run_dir/log/sqlx.diff"; then
        head -n 20 "$run_dir/log/sqlx.diff" >&2
        die ".sqlx does not match the queries and migrations; run make sqlx and commit it"
    fi
    step sqlx "$(find "$fresh" -name 'query-*.json' | wc -l) queries, all as in .sqlx"
else
    rm -rf "$root/.sqlx"
    mv "$fresh" "$root/.sqlx"
    step sqlx "$(find "$root/.sqlx" -name 'query-*.json' | wc -l) queries written to .sqlx"
fi
