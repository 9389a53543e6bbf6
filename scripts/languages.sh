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
    node) packages=(nodejs) ;;
    python3) packages=(python3) ;;
    php) packages=(php-cli php-curl php-sqlite3) ;;
    go) packages=(golang-go) ;;
    *) die "usage: languages.sh node|python3|php|go" ;;
esac

# Prints the program's path if it is here, for PHP with the extensions that the SDK needs.
found() {
    command -v "$name" >/dev/null || return 1
    if [ "$name" = php ]; then
        php -r 'exit(extension_loaded("curl") && extension_loaded("pdo_sqlite") ? 0 : 1);' || return 1
    fi
    command -v "$name"
}

found && exit
lock_clone
# Another run may have installed it while we waited.
found && exit
can_apt_install || die "the examples are run in their own languages: install $name (Debian: ${packages[*]})"
apt_install "${packages[@]}"
found || die "$name lacks what the examples need (Debian: ${packages[*]})"
