#!/usr/bin/env bash
# Writes what docker-compose.yml reads: .env, in which nothing is secret, and secrets/, a file each.
# A secret that is there stays, as volumes and sealed rows depend on it.
#
#   env.sh                                    the sandbox; or the .env of an earlier release, whose
#                                             passwords move to secrets/ and whose profile stays
#   env.sh production API PAY DASHBOARD       production; the names of the three hosts
#
# It stands alone: a release has it without the other scripts.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
umask 077

# The user of the image.
image_user=10001

say() { printf '%s\n' "$*" >&2; }
die() {
    say "error: $*"
    exit 1
}

random_hex() { od -An -tx1 -N"$1" /dev/urandom | tr -d ' \n'; }

# Prints variable $1 of an .env of earlier releases, which had the passwords.
earlier() { if [ -e .env ]; then sed -n "s/^$1=//p" .env | tail -n 1; fi; }

# Writes $2 into the secret called $1, unless there is one.
write() { [ -e "secrets/$1" ] || printf '%s' "$2" >"secrets/$1"; }

# The same for a random value of $3 bytes; $2 is its name in an earlier .env. Prints the value.
draw() {
    if [ ! -s "secrets/$1" ]; then
        local value
        value=$(earlier "$2")
        printf '%s' "${value:-$(random_hex "${3:-16}")}" >"secrets/$1"
    fi
    cat "secrets/$1"
}

write_secrets() {
    local postgres admin application operator topology
    mkdir -p secrets
    postgres=$(draw postgres-password POSTGRES_PASSWORD)
    admin=$(draw rabbitmq-admin-password RABBITMQ_ADMIN_PASSWORD)
    application=$(draw GATEWAY_BROKER__APPLICATION_PASSWORD RABBITMQ_APPLICATION_PASSWORD)
    operator=$(draw GATEWAY_BROKER__OPERATOR_PASSWORD RABBITMQ_OPERATOR_PASSWORD)
    topology=$(draw GATEWAY_BROKER__TOPOLOGY_PASSWORD RABBITMQ_TOPOLOGY_PASSWORD)
    draw GATEWAY_MASTER_KEY GATEWAY_MASTER_KEY 32 >/dev/null
    [ -n "$operator$topology" ] || die "secrets/ cannot be read"
    write DATABASE_URL "postgres://gateway:$postgres@postgres:5432/gateway"
    write AMQP_URL "amqp://gw-application:$application@rabbitmq:5672/gateway"
    write GATEWAY_BROKER__MANAGEMENT_URL "http://gateway-admin:$admin@rabbitmq:15672"
    # An empty file sets nothing.
    local name
    for name in GATEWAY_DATABASE_DIRECT_URL GATEWAY_MASTER_KEY_OLD GATEWAY_MAIL__PASSWORD \
        GATEWAY_PAYOUTS__SEED_KEY payouts.seed GATEWAY_X402__SEED_KEY x402.seed gateway.toml tls.crt tls.key; do
        write "$name" ''
    done
}

# The containers run as the owner of the files.
give_away() {
    chmod 700 secrets
    chmod 600 secrets/*
    chmod 644 .env
    if [ "$(id -u)" = 0 ]; then
        chown -R "$image_user:$image_user" secrets
    else
        printf 'RUN_AS=%s:%s\n' "$(id -u)" "$(id -g)" >>.env
    fi
}

# Profile $1. Other lines of an earlier .env, such as ports, stay.
write_env() {
    local kept
    kept=$(grep -Ev '^(#|$|GATEWAY_PROFILE=|GATEWAY_MASTER_KEY=|POSTGRES_PASSWORD=|RABBITMQ_[A-Z]+_PASSWORD=)' .env 2>/dev/null || true)
    cat >.env <<ENV
# Written by scripts/env.sh; nothing in it is secret. .env.example says what else may stand here.
GATEWAY_PROFILE=$1${kept:+
$kept}
ENV
}

write_production() {
    cat >.env <<ENV
# Written by scripts/env.sh; nothing in it is secret. .env.example says what else may stand here.
COMPOSE_PROFILES=production
GATEWAY_PROFILE=production
API_HOST=$1
PAY_HOST=$2
DASHBOARD_HOST=$3
GATEWAY_BASE_URL=https://$1
GATEWAY_CHECKOUT_URL=https://$2
GATEWAY_DASHBOARD_URL=https://$3
GATEWAY_RATES__PROVIDERS=kraken,coinbase,binance
ENV
}

next_in_production() {
    local owner=$image_user
    [ "$(id -u)" = 0 ] || owner=$(id -u)
    say "Wrote .env and secrets/. Next (docs/containers.md):"
    say "  1. secrets/gateway.toml: the file of gatewayctl keys, with a section [chains.*] for each network"
    say "  2. secrets/tls.crt and secrets/tls.key: a certificate for $1, $2 and $3, and its key"
    say "     Both belong to user $owner with mode 600: chown $owner secrets/*; chmod 600 secrets/*"
    say "  3. docker compose run --rm --no-deps migrate gatewayctl config check"
    say "  4. docker compose up --detach --wait"
}

is_earlier=no
if [ -n "$(earlier POSTGRES_PASSWORD)" ]; then
    is_earlier=yes
elif [ -e .env ]; then
    die ".env exists; delete it first to write another one. The files in secrets/ stay as they are"
fi
case ${1:-sandbox} in
    sandbox)
        [ $# -le 1 ] || die "usage: env.sh | env.sh production API PAY DASHBOARD"
        # The profile of the database that the passwords belong to, which no other profile may open.
        profile=$(earlier GATEWAY_PROFILE)
        profile=${profile:-sandbox}
        write_secrets
        write_env "$profile"
        give_away
        [ "$is_earlier" = no ] ||
            say "The passwords of the earlier .env are in secrets/ now; its profile, $profile, and its other lines stay."
        if [ "$profile" = production ]; then
            say "Wrote .env and secrets/. Before the next start read docs/containers.md: settings with secrets move to secrets/ too"
        else
            say "Wrote .env and secrets/. Next: docker compose up"
        fi
        ;;
    production)
        [ $# = 4 ] || die "name the three hosts: env.sh production api.example.com pay.example.com dashboard.example.com"
        [ "$is_earlier" = no ] ||
            die ".env is of an earlier release: run env.sh without arguments, which keeps its profile and passwords." \
                "A new production begins in a folder of its own"
        write_secrets
        write_production "$2" "$3" "$4"
        give_away
        next_in_production "$2" "$3" "$4"
        ;;
    *) die "usage: env.sh | env.sh production API PAY DASHBOARD" ;;
esac
