#!/usr/bin/env bash
# Prints the path of prometheus or promtool, for the tests that load the alerts and the dashboards'
# expressions; installs the distribution's package if it is missing and the user may.
#
#   prometheus.sh prometheus | promtool
set -euo pipefail

dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/clone.sh
. "$dir/clone.sh"

name=${1:-}
case $name in
    prometheus | promtool) ;;
    *) die "usage: prometheus.sh prometheus|promtool" ;;
esac

command -v "$name" && exit
lock_clone
# Another run may have installed it while we waited.
command -v "$name" && exit
can_apt_install || die "the alerts are tested with Prometheus: install $name (Debian: prometheus)"
apt_install prometheus
command -v "$name"
