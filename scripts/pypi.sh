# shellcheck shell=bash disable=SC2154 # run_dir comes from clone.sh
# Tools from PyPI, each in an environment of its own under .run. Sourced after clone.sh.

# Installs the tool $1 in version $2, with further packages after it, once; sets python_folder to
# its environment.
python_tool() {
    local name=$1 version=$2
    python_folder=$run_dir/tools/$name-$version
    if [ -e "$python_folder/complete" ]; then return; fi
    lock_clone
    # Another run may have installed it while we waited.
    if [ -e "$python_folder/complete" ]; then return; fi
    if ! python3 -m venv --help >/dev/null 2>&1 || ! python3 -c 'import ensurepip' 2>/dev/null; then
        can_apt_install || die "$name needs python3 with venv (Debian: python3-venv)"
        apt_install python3-venv
    fi
    step packages "installing $name $version from PyPI"
    rm -rf "$python_folder"
    {
        python3 -m venv "$python_folder" &&
            "$python_folder/bin/pip" install --quiet --disable-pip-version-check "$name==$version" "${@:3}" &&
            touch "$python_folder/complete"
    } >"$run_dir/log/$name.log" 2>&1 9>&- ||
        { rm -rf "$python_folder"; die "pip could not install $name; see $run_dir/log/$name.log"; }
}
