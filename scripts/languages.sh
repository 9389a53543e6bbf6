#!/usr/bin/env bash
# Prints the path of a language's program, for the tests that run the examples; installs the
# distribution's package if it is missing and the user may.
#
#   languages.sh node | python3 | php | go
set -euo pipefail

dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/clone.sh
. "$dir/clone.sh"

name=${1:-}
case $name in
    node) package=nodejs ;;
    python3) package=python3 ;;
    php) package=php-cli ;;
    go) package=golang-go ;;
    *) die "usage: languages.sh node|python3|php|go" ;;
esac

command -v "$name" && exit
lock_clone
# Another run may have installed it while we waited.
command -v "$name" && exit
can_apt_install || die "the examples are run in their own languages: install $name (Debian: $package)"
apt_install "$package"
command -v "$name"
