#!/usr/bin/env bash
# PostgreSQL and RabbitMQ for this clone.
#
#   services.sh start             find or start both; quick when they already run
#   services.sh start tests       the same, with the database server that tests have to themselves
#   services.sh env KIND          print addresses as KEY=value lines: for the stack, tests or bench
#   services.sh status            print which servers are used
#   services.sh test-threads      print how many tests may run at once
#   services.sh forget-tests      remove databases and queues of interrupted tests
#   services.sh stop              stop the private ones
#   services.sh clean             stop them and remove all data of this clone, on shared servers too
#
# Search order: addresses given in the environment (DATABASE_URL; AMQP_URL together with
# GATEWAY_BROKER__MANAGEMENT_URL); local servers on the standard ports that accept the login;
# containers of docker-compose.yml; private servers from installed packages, which on Debian and
# Ubuntu root installs.
set -euo pipefail

dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/clone.sh
. "$dir/clone.sh"
# shellcheck source=scripts/postgres.sh
. "$dir/postgres.sh"
# shellcheck source=scripts/rabbitmq.sh
. "$dir/rabbitmq.sh"

postgres_kind='' postgres_url='' postgres_tests_url=''
rabbitmq_kind='' rabbitmq_port='' rabbitmq_management='' rabbitmq_admin=''

# An address counts as given unless it is one of this clone's own, which contain its id (a shell may
# have loaded .run/stack.env and then run the tests).
given() {
    [ -n "${!1:-}" ] && [[ ${!1} != *"$clone_id"* ]]
}

broker_given() {
    if ! given AMQP_URL; then return 1; fi
    given GATEWAY_BROKER__MANAGEMENT_URL ||
        die "AMQP_URL is set but GATEWAY_BROKER__MANAGEMENT_URL is not; queues are declared through RabbitMQ's management API, so set both or neither"
}

save_state() {
    (umask 077 && cat >"$state_file" <<STATE
postgres_kind=$postgres_kind
postgres_url=$postgres_url
postgres_tests_url=$postgres_tests_url
rabbitmq_kind=$rabbitmq_kind
rabbitmq_port=$rabbitmq_port
rabbitmq_management=$rabbitmq_management
rabbitmq_admin=$rabbitmq_admin
STATE
    )
}

load_state() {
    # shellcheck source=/dev/null
    if [ -s "$state_file" ]; then . "$state_file"; fi
}

start() {
    need curl "talk to RabbitMQ's management API"
    lock_clone
    load_state
    if ! given DATABASE_URL; then
        postgres_start
        if [ "${1:-}" = tests ]; then postgres_start_tests; fi
        save_state
    fi
    if ! broker_given; then
        rabbitmq_start
        save_state
    fi
}

# $1: the server's address; $2: the database.
print_database() {
    if given DATABASE_URL; then
        printf 'DATABASE_URL=%q\n' "$DATABASE_URL"
    else
        echo "DATABASE_URL=$1/$2"
    fi
}

# A broker given in the environment is used unchanged, with the one user that the environment names.
print_given_broker() {
    local rest=${AMQP_URL#*://} vhost=/
    if [[ $rest == */?* ]]; then vhost=${rest#*/} && vhost=${vhost%%\?*}; fi
    vhost=${vhost//%2[fF]//}
    printf 'AMQP_URL=%q\n' "$AMQP_URL"
    printf 'GATEWAY_BROKER__MANAGEMENT_URL=%q\n' "$GATEWAY_BROKER__MANAGEMENT_URL"
    printf 'GATEWAY_BROKER__VHOST=%q\n' "$vhost"
    printf 'GATEWAY_BROKER__PREFIX=%q\n' "${GATEWAY_BROKER__PREFIX:-gw}"
}

# The management credential is an administrator's: after the broker lost its data, the sweeper must
# be able to create the users again. The application's own user, in AMQP_URL, can neither declare
# nor delete.
print_stack() {
    local prefix
    prefix=$(rabbitmq_prefix)
    print_database "$postgres_url" "$postgres_database"
    if broker_given; then print_given_broker && return; fi
    cat <<ENV
AMQP_URL=amqp://$prefix-application:$(secret application)@127.0.0.1:$rabbitmq_port/$rabbitmq_name
GATEWAY_BROKER__MANAGEMENT_URL=http://$rabbitmq_admin@$rabbitmq_management
GATEWAY_BROKER__VHOST=$rabbitmq_name
GATEWAY_BROKER__PREFIX=$prefix
GATEWAY_BROKER__APPLICATION_PASSWORD=$(secret application)
GATEWAY_BROKER__OPERATOR_PASSWORD=$(secret operator)
GATEWAY_BROKER__TOPOLOGY_PASSWORD=$(secret topology)
RABBITMQ_UI_URL=http://$rabbitmq_management
RABBITMQ_UI_USER=$prefix-operator
RABBITMQ_UI_PASSWORD=$(secret operator)
ENV
}

# For tests, which create databases, queues and users freely. Their server may forget what was
# committed if the machine loses power.
print_test() { print_free "${postgres_tests_url:-$postgres_url}"; }

# For benchmarks, whose commits wait for the disk.
print_bench() { print_free "$postgres_url"; }

print_free() {
    local user=$rabbitmq_name-test
    print_database "$1" "${postgres_database}_test"
    if broker_given; then print_given_broker && return; fi
    cat <<ENV
AMQP_URL=amqp://$user:$(secret test)@127.0.0.1:$rabbitmq_port/$user
GATEWAY_BROKER__MANAGEMENT_URL=http://$user:$(secret test)@$rabbitmq_management
GATEWAY_BROKER__VHOST=$user
ENV
}

status() {
    step postgres "${postgres_kind:-none} ${postgres_url##*@}${postgres_tests_url:+ (tests: ${postgres_tests_url##*@})}"
    step rabbitmq "${rabbitmq_kind:-none} ${rabbitmq_port:+127.0.0.1:$rabbitmq_port} ${rabbitmq_management:+(management http://$rabbitmq_management, user $(rabbitmq_prefix)-operator)}"
}

# Number of tests that may run at once: three for two cores, as most tests wait most of their time,
# but no more than the server has connections for.
test_threads() {
    local most room threads
    load_state
    most=$(($(getconf _NPROCESSORS_ONLN) * 3 / 2))
    if given DATABASE_URL; then room=80; else room=$(postgres_room); fi
    threads=$((room / 40))
    if [ "$threads" -gt "$most" ]; then threads=$most; fi
    if [ "$threads" -lt 1 ]; then threads=1; fi
    echo "$threads"
}

# Leftovers of interrupted tests.
forget_tests() {
    lock_clone
    load_state
    if ! given DATABASE_URL; then postgres_forget_tests; fi
    if ! broker_given; then rabbitmq_forget_tests; fi
}

stop() {
    lock_clone
    load_state
    postgres_stop
    rabbitmq_stop
}

clean() {
    lock_clone
    load_state
    postgres_clean
    rabbitmq_clean
    if [ -s "$run_dir/compose.env" ] && docker_answers; then compose down --volumes >/dev/null 2>&1 || true; fi
    rm -rf -- "$state_file" "$run_dir"/{secret,ports,stack.env,test.env,compose.env}
}

case ${1:-} in
    start) start "${2:-}" ;;
    env)
        load_state
        case ${2:-} in stack | test | bench) "print_$2" ;; *) die "usage: services.sh env stack|test|bench" ;; esac
        ;;
    status) load_state && status ;;
    test-threads) test_threads ;;
    forget-tests) forget_tests ;;
    stop) stop ;;
    clean) clean ;;
    *) die "usage: services.sh start [tests]|env stack|test|bench|test-threads|forget-tests|status|stop|clean" ;;
esac
