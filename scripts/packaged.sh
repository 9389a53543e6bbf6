#!/usr/bin/env bash
# Prints the folder of an installed server's own programs, for tests that start, freeze and kill
# private servers. Installs the distribution's package if it is missing and the user may.
#
#   packaged.sh postgresql | rabbitmq
set -euo pipefail

dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/clone.sh
. "$dir/clone.sh"
# shellcheck source=scripts/postgres.sh
. "$dir/postgres.sh"
# shellcheck source=scripts/rabbitmq.sh
. "$dir/rabbitmq.sh"

find_programs() {
    case $1 in
        postgresql) postgres_bin ;;
        rabbitmq) rabbitmq_sbin ;;
        *) die "usage: packaged.sh postgresql|rabbitmq" ;;
    esac
}

name=${1:-}
find_programs "$name" && exit
lock_clone
# Another run may have installed it while we waited.
find_programs "$name" && exit
can_apt_install || die "the fault tests start a $name of their own: install its server package"
if [ "$name" = rabbitmq ]; then apt_install rabbitmq-server; else apt_install postgresql postgresql-client; fi
find_programs "$name"
