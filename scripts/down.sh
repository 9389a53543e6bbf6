#!/usr/bin/env bash
# Stops this clone's programs and its private servers. Data stays; `make clean-services` removes it.
set -euo pipefail

dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/clone.sh
. "$dir/clone.sh"
# shellcheck source=scripts/programs.sh
. "$dir/programs.sh"

lock_clone
programs_stop
rm -f "$stack_env" "$run_dir/starting.env"
# Not a child: services.sh takes the lock that this process holds until then.
exec "$dir/services.sh" stop
