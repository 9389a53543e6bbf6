# shellcheck shell=bash
# Tools from npm, each in a folder of its own outside of any clone, so that a new clone finds them.
# Sourced after clone.sh.

npm_tools=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/gateway/tools

# Installs packages into a folder for $1, once, and sets npm_modules to its node_modules. Further
# arguments go to npm: options, and packages with their versions. They name the folder, so that a
# new version is a new folder.
npm_tool() {
    local name=$1 wanted folder fresh
    shift
    wanted=$(printf '%s\n' "$@" | sha256sum | cut -c 1-12)
    folder=$npm_tools/$name-$wanted
    npm_modules=$folder/node_modules
    if [ -d "$npm_modules" ]; then return; fi
    mkdir -p "$npm_tools"
    # Concurrent tests ask at once; one of them installs for all.
    if command -v flock >/dev/null; then
        exec 8>"$folder.lock"
        flock -w 600 8 || die "another run has been installing into $folder for 10 minutes"
        if [ -d "$npm_modules" ]; then return; fi
    fi
    if ! command -v npm >/dev/null && can_apt_install; then
        lock_clone
        command -v npm >/dev/null || apt_install nodejs npm >&2
    fi
    need npm "fetch $name for the tests"
    # Built in a separate folder, so that an interrupted run leaves nothing half done.
    fresh=$(mktemp -d "$npm_tools/$name.XXXXXX")
    npm install --prefix "$fresh" --silent --no-audit --no-fund --prefer-offline "$@" >&2 8>&- 9>&- ||
        { rm -rf "$fresh"; die "npm could not install $name: $*"; }
    [ -e "$folder" ] || mv "$fresh" "$folder" 2>/dev/null || true
    rm -rf "$fresh"
    [ -d "$npm_modules" ] || die "npm left nothing in $folder"
}
