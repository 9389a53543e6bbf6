#!/usr/bin/env bash
# What the browser tests need, found or installed: prints the path of a Chromium, or of axe-core's script.
#
#   browser.sh chromium | axe
#
# Chromium: $CHROMIUM, then what is on PATH, then Debian's package. axe-core: $AXE, then the copy under target/, then npm.
set -euo pipefail

dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/clone.sh
. "$dir/clone.sh"

axe_version=4.14.1

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
    # A font with Latin and Arabic letters; a bare machine has none.
    apt_install chromium fonts-noto-core
    find_chromium
}

print_axe() {
    if [ -n "${AXE:-}" ]; then
        [ -s "$AXE" ] || die "AXE is set to $AXE, which is no file"
        echo "$AXE" && return
    fi
    local folder=$root/target/tools/axe-$axe_version fresh
    local file=$folder/node_modules/axe-core/axe.min.js
    if [ ! -s "$file" ]; then
        lock_clone
        if ! command -v npm >/dev/null && can_apt_install; then apt_install nodejs npm; fi
        need npm "fetch axe-core for the accessibility tests"
        # Two test runs may install at once: each into a folder of its own, the first rename wins.
        mkdir -p "$root/target/tools"
        fresh=$(mktemp -d "$root/target/tools/axe.XXXXXX")
        npm install --prefix "$fresh" --silent --no-audit --no-fund --ignore-scripts "axe-core@$axe_version" >&2 9>&-
        [ -e "$folder" ] || mv "$fresh" "$folder" 2>/dev/null || true
        rm -rf "$fresh"
    fi
    [ -s "$file" ] || die "npm left no axe-core at $file"
    echo "$file"
}

case ${1:-} in
    chromium) print_chromium ;;
    axe) print_axe ;;
    *) die "usage: browser.sh chromium|axe" ;;
esac
