#!/bin/sh
# Prints the path of program $2, which Debian's package $3 of suite $4 has at $5, fetched into
# target/ with every library it needs, including its own libc: it runs on any Linux of this
# architecture, and nothing is installed on the machine. Order: the environment variable $1, $2 on
# PATH, the copy fetched earlier, Debian's mirror. The first three use no network. Used by
# bitcoind.sh, litecoind.sh, nginx.sh and pgbouncer.sh.
set -eu
cd "$(dirname "$0")/.."

variable=$1
program=$2
package=$3
suite=$4
place=$5

given=$(printenv "$variable" || true)
if [ -n "$given" ]; then
    [ -x "$given" ] || { echo "$variable is set to $given, which is not a program" >&2; exit 1; }
    echo "$given"
    exit
fi
if command -v "$program"; then exit; fi

folder=$PWD/target/tools/$package-trixie
if [ -x "$folder/$program" ]; then
    echo "$folder/$program"
    exit
fi

keyring=/usr/share/keyrings/debian-archive-keyring.gpg
if [ "$(uname -s)-$(uname -m)" != Linux-x86_64 ] || ! command -v apt-get >/dev/null || [ ! -r "$keyring" ]; then
    echo "$program is fetched from Debian's mirror by Debian's apt only: install $program, or set $variable" >&2
    exit 1
fi
# The mirror that this machine already uses.
if [ "$(id -u)" = 0 ] && [ -z "$(apt-get indextargets 'Created-By: Packages')" ]; then apt-get update -q >&2; fi
# shellcheck disable=SC2016 # apt's own variables
mirror=$(apt-get indextargets --format '$(REPO_URI) $(LABEL)' 'Created-By: Packages' | sed -n 's/ Debian$//p' | head -n 1)
[ -n "$mirror" ] || {
    echo "no mirror of Debian among this machine's sources: install $program, or set $variable" >&2
    exit 1
}

# Two test runs may fetch at once: each into a folder of its own, the first rename wins.
mkdir -p target/tools
fresh=$(mktemp -d "$PWD/target/tools/$package.XXXXXX")
trap 'rm -rf "$fresh"' EXIT
apt=$fresh/apt
mkdir -p "$apt/etc/apt.conf.d" "$apt/etc/preferences.d" "$apt/state/lists/partial" "$apt/cache/archives/partial"
# As if nothing were installed, so that apt names all libraries.
: >"$apt/state/status"
for each in $(printf '%s\n' trixie "$suite" | sort -u); do
    echo "deb [signed-by=$keyring] $mirror $each main"
done >"$apt/etc/sources.list"
cat >"$apt/apt.conf" <<END
Dir::Etc "$apt/etc";
Dir::Etc::sourcelist "$apt/etc/sources.list";
Dir::Etc::sourceparts "-";
Dir::State "$apt/state";
Dir::State::status "$apt/state/status";
Dir::Cache "$apt/cache";
Dir::Log "$apt/log";
APT::Sandbox::User "$(id -un)";
Debug::NoLocking "true";
Acquire::Languages "none";
Acquire::Retries "3";
END
{
    APT_CONFIG=$apt/apt.conf apt-get update -q
    APT_CONFIG=$apt/apt.conf apt-get install -q -y --no-install-recommends --download-only -t "$suite" "$package"
} >&2
mkdir "$fresh/root"
for deb in "$apt"/cache/archives/*.deb; do dpkg -x "$deb" "$fresh/root"; done
rm -rf "$apt"

# The loader gets the paths of its libraries: they are not those of this machine.
cat >"$fresh/$program" <<END
#!/bin/sh
root=\$(dirname "\$0")/root
libraries=\$root/usr/lib/x86_64-linux-gnu
exec "\$libraries/ld-linux-x86-64.so.2" --library-path "\$libraries" "\$root/$place" "\$@"
END
chmod +x "$fresh/$program"
# nginx knows the short form alone.
"$fresh/$program" --version >/dev/null 2>&1 || "$fresh/$program" -v || {
    echo "the fetched $program does not run" >&2
    exit 1
} >&2
chmod 755 "$fresh"
[ -e "$folder" ] || mv -T "$fresh" "$folder" 2>/dev/null || true
[ -x "$folder/$program" ] || { echo "$package left no $program in $folder" >&2; exit 1; }
echo "$folder/$program"
