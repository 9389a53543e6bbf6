#!/usr/bin/env bash
# Prints the path of schemathesis, which asks the API everything its description allows and much that it does not.
# Installs it into an environment of its own under .run, once.
set -euo pipefail

dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/clone.sh
. "$dir/clone.sh"

version=4.32.1
folder=$run_dir/tools/schemathesis-$version
program=$folder/bin/schemathesis

if [ ! -x "$program" ]; then
    lock_clone
fi
# Another run may have installed it while we waited.
if [ ! -x "$program" ]; then
    if ! python3 -m venv --help >/dev/null 2>&1 || ! python3 -c 'import ensurepip' 2>/dev/null; then
        can_apt_install || die "the contract tests need python3 with venv (Debian: python3-venv)"
        apt_install python3-venv
    fi
    step packages "installing schemathesis $version from PyPI"
    rm -rf "$folder"
    {
        python3 -m venv "$folder" &&
            "$folder/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$version"
    } >"$run_dir/log/schemathesis.log" 2>&1 9>&- ||
        { rm -rf "$folder"; die "pip could not install schemathesis; see $run_dir/log/schemathesis.log"; }
fi
echo "$program"
