#!/usr/bin/env bash
# Finds or installs the tools of the browser tests: prints the path of a Chromium, or of axe-core's
# script.
#
#   browser.sh chromium | axe
#
# Chromium: $CHROMIUM, then one on PATH, then Debian's package. axe-core: $AXE, then the copy
# installed earlier, then npm.
set -euo pipefail

dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/clone.sh
. "$dir/clone.sh"
# shellcheck source=scripts/npm.sh
. "$dir/npm.sh"

find_chromium() {
    local name
    if [ -n "${CHROMIUM:-}" ]; then
        [ -x "$CHROMIUM" ] || die "CHROMIUM is set to $CHROMIUM, which is not a program"
        echo "$CHROMIUM" && return
    fi
    for name in chromium chromium-browser google-chrome-stable google-chrome; do
        command -v "$name" && return
    done
    return 1
}

print_chromium() {
    find_chromium && return
    lock_clone
    # Another run may have installed it while we waited.
    find_chromium && return
    can_apt_install || die "the browser tests need Chromium: install it, or set CHROMIUM to its program"
    # Fonts with Latin and Arabic letters, and with Chinese and Japanese ones; a bare machine has none.
    apt_install chromium fonts-noto-core fonts-droid-fallback
    find_chromium
}

print_axe() {
    if [ -n "${AXE:-}" ]; then
        [ -s "$AXE" ] || die "AXE is set to $AXE, which is no file"
        echo "$AXE" && return
    fi
    npm_tool axe --ignore-scripts axe-core@4.14.1
    echo "$npm_modules/axe-core/axe.min.js"
}

case ${1:-} in
    chromium) print_chromium ;;
    axe) print_axe ;;
    *) die "usage: browser.sh chromium|axe" ;;
esac
