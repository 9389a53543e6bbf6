#!/usr/bin/env bash
# Prints the path of libfaketime, by which tests give a program another clock. Installs the
# distribution's package if it is missing and the user may. Order: $FAKETIME_LIBRARY, an installed
# package, the package manager.
set -euo pipefail

dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/clone.sh
. "$dir/clone.sh"

find_library() {
    local path
    for path in /usr/lib/*/faketime/libfaketime.so.1 /usr/lib{,64}/faketime/libfaketime.so.1; do
        if [ -e "$path" ]; then echo "$path" && return; fi
    done
    return 1
}

if [ -n "${FAKETIME_LIBRARY:-}" ]; then
    [ -e "$FAKETIME_LIBRARY" ] || die "FAKETIME_LIBRARY is set to $FAKETIME_LIBRARY, which is not there"
    echo "$FAKETIME_LIBRARY"
    exit
fi
find_library && exit
lock_clone
# Another run may have installed it while we waited.
find_library && exit
can_apt_install || die "the clock tests give programs another clock: install libfaketime"
apt_install libfaketime
find_library
