#!/usr/bin/env bash
# Writes .env for docker-compose.yml: .env.example with random values. Leaves an existing .env
# alone.
set -euo pipefail

dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/clone.sh
. "$dir/clone.sh"

[ ! -e "$root/.env" ] || die ".env exists; delete it first if its passwords are in no volume any more"
umask 077
while IFS= read -r line; do
    case $line in
        GATEWAY_MASTER_KEY=) line+=$(random_hex 32) ;;
        [A-Z]*=) line+=$(random_hex 16) ;;
    esac
    printf '%s\n' "$line"
done <"$root/.env.example" >"$root/.env"
say "Wrote .env. Next: docker compose up"
