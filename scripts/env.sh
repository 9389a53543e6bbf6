#!/usr/bin/env bash
# Writes what docker-compose.yml reads: .env, in which nothing is secret, and secrets/, a file each.
# A secret that is there stays, as volumes and sealed rows depend on it. `env.sh --help` says how to
# call it. It stands alone: a release has it without the other scripts.
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

usage() {
    cat <<'HELP'
Writes what docker-compose.yml reads, in the folder above this script:

  .env        the profile, hosts and ports; nothing in it is secret. .env.example lists all it may have
  secrets/    one file per secret, with random passwords. secrets/.profile says which profile they are of

usage:
  scripts/env.sh                                 a sandbox, or what an .env of an earlier release needs:
                                                 its passwords move to secrets/, its profile and other lines stay
  scripts/env.sh sandbox                         the same, said outright
  scripts/env.sh production API PAY DASHBOARD    production; the names of its three hosts
  scripts/env.sh --help                          this text

for example:
  scripts/env.sh production api.example.com pay.example.com dashboard.example.com

A secret that exists is never changed: the database's volume knows its password, and its rows are sealed by the
master key. So a folder keeps its profile, and another profile begins in a folder of its own.

.env exists? Edit it, and run `docker compose up --detach --force-recreate --wait`.
.env is lost? Run the command again by which it was written. The secrets stay; lines that you had added to .env
are not known here, so add them again.
secrets/ is lost? Restore it from your secret store: new secrets open neither the database nor what is sealed in it.

docs/containers.md has the whole procedure.
HELP
}

random_hex() { od -An -tx1 -N"$1" /dev/urandom | tr -d ' \n'; }

# Prints the value of variable $1 in .env, as compose understands it; nothing where there is none.
value_of() {
    [ -e .env ] || return 0
    local value
    value=$(sed -nE "s/^[[:space:]]*(export[[:space:]]+)?$1[[:space:]]*[=:][[:space:]]*//p" .env | tail -n 1)
    value=${value%$'\r'}
    case $value in
        \'*\'*)
            value=${value#\'}
            printf '%s' "${value%%\'*}"
            return
            ;;
        \"*\"*)
            value=${value#\"}
            value=${value%%\"*}
            ;;
        [\'\"]*) die "$1 in .env begins with a quote that does not end on its line; nothing was changed" ;;
        *)
            # A comment needs a space before it.
            value=${value%%[[:space:]]#*}
            value=${value%"${value##*[![:space:]]}"}
            ;;
    esac
    # Compose would put something else in their place.
    case $value in
        *[\\$]*) die "$1 in .env has a \\ or a \$: put the value itself in single quotes. Nothing was changed" ;;
    esac
    printf '%s' "$value"
}

# Prints the profile of .env.
profile_of_env() {
    local profile
    # A substitution does not inherit set -e.
    profile=$(value_of GATEWAY_PROFILE) || exit 1
    case ${profile:=sandbox} in
        sandbox | production) printf '%s' "$profile" ;;
        *) die "GATEWAY_PROFILE in .env is $profile; it has to be sandbox or production. Nothing was changed" ;;
    esac
}

# Ends if secrets/ may belong to another profile than $1. $2 is set if the profile was said, by the
# command or by an .env.
#
# A production whose .env is lost must not come back as a sandbox, which prices with fixed rates and
# believes simulated chains.
check_owner() {
    [ -d secrets ] || return 0
    if [ ! -r secrets ] || [ ! -x secrets ]; then
        die "secrets/ cannot be read: run this as its owner, or as root. Nothing was changed"
    fi
    local owner='' again
    if [ -e secrets/.profile ]; then
        owner=$(cat secrets/.profile)
    elif [ -s secrets/tls.key ]; then
        # Earlier releases wrote no mark. Nothing but production has a certificate.
        owner=production
    elif [ -s secrets/GATEWAY_MASTER_KEY ] || [ -s secrets/postgres-password ]; then
        [ -z "$2" ] || return 0
        die "secrets/ has secrets and .env is gone, so nobody knows which profile they are of. Say it:" \
            "scripts/env.sh production API PAY DASHBOARD, or scripts/env.sh sandbox. Nothing was changed"
    else
        return 0
    fi
    [ "$owner" != "$1" ] || return 0
    case $owner in
        production) again='scripts/env.sh production API PAY DASHBOARD' ;;
        sandbox) again='scripts/env.sh sandbox' ;;
        *) die "secrets/.profile has to be sandbox or production. Nothing was changed" ;;
    esac
    die "the files in secrets/ belong to a $owner, and this would write the .env of a $1. Nothing was changed." \
        "The .env of the $owner: $again. A $1: in a folder of its own"
}

# Writes $2 into the secret called $1, unless there is one.
write() { [ -e "secrets/$1" ] || printf '%s' "$2" >"secrets/$1"; }

# The same for a random value of $3 bytes; $2 is its name in an earlier .env. Prints the value.
draw() {
    if [ ! -s "secrets/$1" ]; then
        local value
        value=$(value_of "$2") || exit 1
        printf '%s' "${value:-$(random_hex "${3:-16}")}" >"secrets/$1"
    fi
    cat "secrets/$1"
}

# Of profile $1.
write_secrets() {
    local postgres admin application operator topology
    mkdir -p secrets
    # First of all, so that no secret is without it.
    printf '%s\n' "$1" >secrets/.profile
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
    chmod 600 secrets/* secrets/.profile
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
    local moved='GATEWAY_PROFILE|GATEWAY_MASTER_KEY|POSTGRES_PASSWORD|RABBITMQ_[A-Z]+_PASSWORD'
    kept=$(grep -Ev "^([[:space:]]*#|[[:space:]]*\$|[[:space:]]*(export[[:space:]]+)?($moved)[[:space:]]*[=:])" .env 2>/dev/null || true)
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

case ${1:-sandbox} in
    -h | --help | help)
        usage
        exit 0
        ;;
    sandbox)
        [ $# -le 1 ] || die "a sandbox has no hosts to name. scripts/env.sh --help says more"
        ;;
    production)
        [ $# = 4 ] || die "name the three hosts: scripts/env.sh production api.example.com pay.example.com dashboard.example.com"
        ;;
    *) die "there is no $1; scripts/env.sh --help says how to call it" ;;
esac

is_earlier=no
password=$(value_of POSTGRES_PASSWORD)
if [ -n "$password" ]; then
    is_earlier=yes
    # Before anything is written.
    for name in GATEWAY_MASTER_KEY RABBITMQ_{ADMIN,APPLICATION,OPERATOR,TOPOLOGY}_PASSWORD; do
        value_of "$name" >/dev/null
    done
elif [ -e .env ]; then
    die ".env exists, and nothing was changed. Edit it to change a setting: .env.example lists them all. To have it" \
        "written anew, keep a copy (mv .env .env.before) and run the command by which it was written:" \
        "the secrets stay, and they belong to one profile"
fi
case ${1:-sandbox} in
    sandbox)
        # The profile of the database that the passwords belong to, which no other profile may open.
        profile=sandbox
        if [ $is_earlier = yes ]; then profile=$(profile_of_env); fi
        [ $# = 0 ] || [ "$profile" = "$1" ] ||
            die ".env is of an earlier release and of a $profile: run scripts/env.sh without arguments, which keeps both. Nothing was changed"
        said=${1:-}
        if [ $is_earlier = yes ]; then said=$profile; fi
        check_owner "$profile" "$said"
        write_secrets "$profile"
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
        [ "$is_earlier" = no ] ||
            die ".env is of an earlier release: run env.sh without arguments, which keeps its profile and passwords." \
                "A new production begins in a folder of its own"
        check_owner production production
        write_secrets production
        write_production "$2" "$3" "$4"
        give_away
        next_in_production "$2" "$3" "$4"
        ;;
esac
