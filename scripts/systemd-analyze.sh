#!/usr/bin/env bash
# Prints the path of systemd-analyze, with which a test verifies the units. Installs Debian's package
# if it is missing and the user may; nothing of it is started.
set -euo pipefail

dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/clone.sh
. "$dir/clone.sh"

command -v systemd-analyze && exit
lock_clone
can_apt_install || die "the units are verified by systemd-analyze: install systemd"
apt_install systemd
command -v systemd-analyze
