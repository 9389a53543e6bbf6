# shellcheck shell=bash
# Finds or starts RabbitMQ with its management API. Sourced by services.sh after clone.sh; sets
# rabbitmq_kind (found, docker or private), rabbitmq_port, rabbitmq_management (host:port) and
# rabbitmq_admin (user:pass).
#
# Everything of this clone is in two virtual hosts, one for the stack and one for tests. Their names
# and those of the users contain the clone's id, as the broker may serve others too.
# shellcheck disable=SC2154 # clone.sh sets root, run_dir, clone_id

rabbitmq_name=gateway-$clone_id
rabbitmq_node=$rabbitmq_name@localhost
rabbitmq_home=$run_dir/rabbitmq

# Users belong to the whole broker, so on a shared one their names, which begin with the prefix,
# contain the id too.
rabbitmq_prefix() { if [ "$rabbitmq_kind" = found ]; then echo "gw-$clone_id"; else echo gw; fi; }

# Calls the management API: method, path, JSON body. The password goes through a pipe, invisible to
# `ps`.
rabbitmq_api() {
    curl -fsS --max-time 10 -K <(printf 'user = "%s"\n' "$rabbitmq_admin") -X "$1" -H 'content-type: application/json' \
        ${3:+--data "$3"} "http://$rabbitmq_management/api/$2" 9>&-
}

# A broker is usable if this clone may administer it, it is 3.10 or later and operators can move
# messages (shovel).
rabbitmq_find() {
    local overview version
    listening 5672 && listening 15672 || return 1
    rabbitmq_management=127.0.0.1:15672 rabbitmq_admin=guest:guest
    [[ $(rabbitmq_api GET whoami 2>/dev/null) == *administrator* ]] || return 1
    rabbitmq_api GET shovels >/dev/null 2>&1 || return 1
    overview=$(rabbitmq_api GET overview 2>/dev/null) || return 1
    version=$(sed -n 's/.*"rabbitmq_version":"\([0-9]*\)\.\([0-9]*\).*/\1 \2/p' <<<"$overview")
    awk '{ exit !($1 > 3 || ($1 == 3 && $2 >= 10)) }' <<<"$version" || return 1
    rabbitmq_kind=found rabbitmq_port=5672
}

# Prints the folder of the package's own scripts: those in /usr/sbin would switch to the system
# broker's user.
rabbitmq_sbin() {
    local dir
    for dir in /usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin /opt/rabbitmq/sbin /opt/homebrew/opt/rabbitmq/sbin \
        /usr/local/opt/rabbitmq/sbin; do
        [ ! -x "$dir/rabbitmq-server" ] || { echo "$dir" && return; }
    done
    return 1
}

rabbitmq_environment() {
    export HOME=$rabbitmq_home/home RABBITMQ_NODENAME=$rabbitmq_node
    export RABBITMQ_MNESIA_BASE=$rabbitmq_home/data RABBITMQ_LOG_BASE=$rabbitmq_home/log
    export RABBITMQ_CONFIG_FILE=$rabbitmq_home/rabbitmq RABBITMQ_ADVANCED_CONFIG_FILE=$rabbitmq_home/advanced
    export RABBITMQ_ENABLED_PLUGINS_FILE=$rabbitmq_home/enabled_plugins RABBITMQ_CONF_ENV_FILE=$rabbitmq_home/env.conf
    export RABBITMQ_PID_FILE=$rabbitmq_home/pid RABBITMQ_DIST_PORT=$1 ERL_EPMD_PORT=$2 ERL_EPMD_ADDRESS=127.0.0.1
    export RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="-kernel inet_dist_use_interface {127,0,0,1}"
    # The log shows a crash during the boot; a memory dump in the clone would be of no use.
    export ERL_CRASH_DUMP_SECONDS=0
}

rabbitmq_write_configuration() {
    mkdir -p "$rabbitmq_home"/{home,data,log}
    : >"$rabbitmq_home/env.conf"
    cp "$root/rabbitmq/enabled_plugins" "$rabbitmq_home/enabled_plugins"
    (
        umask 077
        cat "$root/rabbitmq/rabbitmq.conf" - >"$rabbitmq_home/rabbitmq.conf" <<CONF

# The rest belongs to this clone.
listeners.tcp.1 = 127.0.0.1:$1
management.tcp.ip = 127.0.0.1
management.tcp.port = $2
prometheus.tcp.ip = 127.0.0.1
prometheus.tcp.port = $3
default_user = $rabbitmq_name-admin
default_pass = $(secret broker-admin)
default_vhost = $rabbitmq_name
CONF
    )
}

# The node's folder is on the command line of its process; a process that reuses its id does not
# have it.
rabbitmq_pid() {
    local pid
    pid=$(cat "$rabbitmq_home/pid" 2>/dev/null) || return 1
    [[ $(process_arguments "$pid") == *"$rabbitmq_home/"* ]] || return 1
    echo "$pid"
}

rabbitmq_launch() {
    local sbin=$1 amqp management prometheus dist epmd
    rabbitmq_stop_epmd
    amqp=$(port amqp 20)
    management=$(port management 21)
    prometheus=$(port prometheus 22)
    dist=$(port dist 23)
    epmd=$(port epmd 24)
    step rabbitmq "starting a private broker on port $amqp, management UI on http://127.0.0.1:$management"
    rabbitmq_write_configuration "$amqp" "$management" "$prometheus"
    rm -f "$rabbitmq_home/pid"
    (
        rabbitmq_environment "$dist" "$epmd"
        cd "$rabbitmq_home" || exit
        exec setsid "$sbin/rabbitmq-server"
    ) >"$run_dir/log/rabbitmq.log" 2>&1 9>&- </dev/null &
    rabbitmq_port=$amqp rabbitmq_management=127.0.0.1:$management
}

rabbitmq_start_private() {
    local sbin
    if ! sbin=$(rabbitmq_sbin); then
        can_apt_install || die "no RabbitMQ with its management API found: install Docker, or RabbitMQ (version 3.10 or later)"
        apt_install rabbitmq-server
        sbin=$(rabbitmq_sbin) || die "the installed RabbitMQ has no rabbitmq-server"
    fi
    rabbitmq_kind=private rabbitmq_admin=$rabbitmq_name-admin:$(secret broker-admin)
    if ! rabbitmq_pid >/dev/null; then rabbitmq_launch "$sbin"; fi
    wait_for 90 rabbitmq_ready || {
        tail -n 20 "$run_dir/log/rabbitmq.log" >&2
        die "the private RabbitMQ did not start; its log ($run_dir/log/rabbitmq.log) ends as above"
    }
}

rabbitmq_ready() {
    rabbitmq_api GET overview >/dev/null 2>&1 && listening "$rabbitmq_port"
}

rabbitmq_start_docker() {
    write_compose_env
    step rabbitmq "starting the container of docker-compose.yml"
    compose up --detach --wait rabbitmq >"$run_dir/log/compose.log" 2>&1 ||
        die "docker compose could not start rabbitmq; see $run_dir/log/compose.log"
    rabbitmq_kind=docker rabbitmq_admin=gateway-admin:$(secret broker-admin)
    rabbitmq_port=$(sed -n 's/^RABBITMQ_PORT=//p' "$run_dir/compose.env")
    rabbitmq_management=127.0.0.1:$(sed -n 's/^RABBITMQ_MANAGEMENT_PORT=//p' "$run_dir/compose.env")
    wait_for 60 rabbitmq_ready || die "the broker's management API on $rabbitmq_management does not answer"
}

# A user: name, password, tags, virtual host, and the names it may configure, write and read there.
rabbitmq_put_user() {
    rabbitmq_api PUT "users/$1" "{\"password\":\"$2\",\"tags\":\"$3\"}"
    rabbitmq_api PUT "permissions/$4/$1" "{\"configure\":\"$5\",\"write\":\"$6\",\"read\":\"$7\"}"
}

# The stack's users and their permissions come with the topology (`gatewayctl topology apply`);
# tests get a user with all permissions in a separate virtual host.
rabbitmq_create_hosts() {
    local everything='{"configure":".*","write":".*","read":".*"}' admin=${rabbitmq_admin%%:*}
    rabbitmq_api PUT "vhosts/$rabbitmq_name"
    rabbitmq_api PUT "vhosts/$rabbitmq_name-test"
    rabbitmq_api PUT "users/$rabbitmq_name-test" "{\"password\":\"$(secret test)\",\"tags\":\"administrator\"}"
    rabbitmq_api PUT "permissions/$rabbitmq_name/$admin" "$everything"
    rabbitmq_api PUT "permissions/$rabbitmq_name-test/$rabbitmq_name-test" "$everything"
}

# Queues of interrupted tests, unless a test run is still active.
rabbitmq_forget_tests() {
    local host=$rabbitmq_name-test
    [ "$(rabbitmq_api GET "vhosts/$host/connections?columns=name")" = '[]' ] || return 0
    [ "$(rabbitmq_api GET "queues/$host?columns=name")" != '[]' ] || return 0
    rabbitmq_api DELETE "vhosts/$host"
    rabbitmq_create_hosts
}

rabbitmq_start() {
    if [ -n "$rabbitmq_kind" ] && rabbitmq_ready; then return 0; fi
    if [ "$rabbitmq_kind" = private ]; then
        rabbitmq_start_private
    elif rabbitmq_find; then
        step rabbitmq "using the broker on 127.0.0.1:5672, virtual host $rabbitmq_name"
    elif docker_answers; then
        rabbitmq_start_docker
    else
        rabbitmq_start_private
    fi
    rabbitmq_create_hosts
}

rabbitmq_stop() {
    local pid
    if [ "$rabbitmq_kind" = docker ]; then compose stop rabbitmq >/dev/null 2>&1 || true; fi
    if pid=$(rabbitmq_pid); then
        step rabbitmq "stopping the private broker"
        kill -TERM "$pid"
        wait_for 30 process_gone "$pid" || kill -KILL "$pid" 2>/dev/null || true
    fi
    rabbitmq_stop_epmd
}

# Erlang's name service outlives its node; it does not stop while a node is registered with it.
rabbitmq_stop_epmd() {
    local epmd
    epmd=$(sed -n 's/^epmd=//p' "$run_dir/ports" 2>/dev/null || true)
    if [ -n "$epmd" ] && listening "$epmd"; then
        ERL_EPMD_ADDRESS=127.0.0.1 epmd -port "$epmd" -kill >/dev/null 2>&1 || true
    fi
}

rabbitmq_clean() {
    local name=$rabbitmq_name user
    if [ "$rabbitmq_kind" = found ] && rabbitmq_ready; then
        step rabbitmq "deleting the virtual hosts and users of $name"
        rabbitmq_api DELETE "vhosts/$name" || true
        rabbitmq_api DELETE "vhosts/$name-test" || true
        for user in "$name-test" "$(rabbitmq_prefix)"-{application,operator,topology}; do
            # A user that was never created counts as deleted.
            rabbitmq_api DELETE "users/$user" 2>/dev/null || true
        done
    fi
    rabbitmq_stop
    rm -rf -- "$rabbitmq_home"
}
