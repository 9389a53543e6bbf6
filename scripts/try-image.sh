#!/usr/bin/env bash
# Starts the sandbox of docker-compose.yml from the image gateway:local and asks it; checks that
# compose accepts the file for production. For a machine that is used once: it needs a container
# engine and free ports, writes .env and secrets/, and removes the containers with their volumes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

BYTES_MAX=150000000

die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

# shellcheck disable=SC2317 # called by the trap
clean_up() {
    docker compose logs --tail 40 || true
    docker compose down --volumes || true
    rm -rf .env secrets
}

[ ! -e .env ] || die ".env exists; this script is for a fresh clone"
size=$(docker image inspect --format '{{.Size}}' gateway:local)
[ "$size" -le "$BYTES_MAX" ] || die "the image has $size bytes; the limit is $BYTES_MAX"
[ "$(docker image inspect --format '{{.Config.User}}' gateway:local)" = 10001:10001 ] || die "the image runs as another user"
! docker run --rm gateway:local sh -c true 2>/dev/null || die "the image has a shell"

trap clean_up EXIT
# As an operator does it: the files belong to the user of the image.
sudo scripts/env.sh production api.gateway.test pay.gateway.test dashboard.gateway.test
docker compose config --quiet
sudo rm -rf .env secrets
scripts/env.sh
docker compose up --detach --wait --wait-timeout 300
docker compose exec -T api gatewayctl doctor
docker compose exec -T api gatewayctl --json merchant create --name "A shop" >/dev/null
curl --fail --silent --show-error --max-time 20 http://127.0.0.1:8080/docs >/dev/null
for name in $(docker compose ps --format '{{.Name}}'); do
    if docker inspect "$name" | grep -qF -e "$(cat secrets/GATEWAY_MASTER_KEY)" -e "$(cat secrets/postgres-password)"; then
        die "the settings of container $name show a secret"
    fi
done
echo "The sandbox started from the image, and no container's settings show a secret."
