#!/bin/sh
# Builds the file tree of the image in a new folder: the programs, the libraries that they load, the
# certificates of authorities, one user, and nothing else. No shell, no package manager, no client:
# who breaks into a program finds nothing to go on with. Run by the Dockerfile, and by a test.
#
#   image-tree.sh PROGRAMS TREE
set -eu
umask 022

[ $# = 2 ] || { echo "usage: image-tree.sh PROGRAMS TREE" >&2; exit 2; }
programs=$1
tree=$2
mkdir "$tree"
mkdir -p "$tree/usr/local/bin" "$tree/etc/ssl/certs" "$tree/var/lib/dpkg/status.d" "$tree/usr/share/doc"

# Symbols are a quarter of a program; the archive of a release keeps them.
for name in gateway-api gateway-worker gateway-dashboard gatewayctl; do
    strip --strip-all -o "$tree/usr/local/bin/$name" "$programs/$name"
    chmod 755 "$tree/usr/local/bin/$name"
done

# Scanners find the version of each package by these files, as in the distroless images.
keep_package() {
    [ ! -e "$tree/var/lib/dpkg/status.d/$1" ] || return 0
    dpkg-query --status "$1" >"$tree/var/lib/dpkg/status.d/$1"
    mkdir -p "$tree/usr/share/doc/$1"
    cp -L "/usr/share/doc/$1/copyright" "$tree/usr/share/doc/$1/"
}

for library in $(ldd "$tree"/usr/local/bin/* | sed -n 's/.*=> \(\/[^ ]*\) (.*/\1/p; s/^\t\(\/[^ ]*\) (.*/\1/p' | sort -u); do
    cp -L --parents "$library" "$tree"
    # The package's list may have the file under /usr or not.
    owner=$(dpkg-query --search "$library" "/usr$library" "${library#/usr}" "$(realpath "$library")" 2>/dev/null | head -n 1 || true)
    [ -n "$owner" ] || { echo "no package has $library" >&2; exit 1; }
    keep_package "${owner%%:*}"
done
keep_package ca-certificates
cp -L /etc/ssl/certs/ca-certificates.crt "$tree/etc/ssl/certs/"

printf 'root:x:0:0:root:/:/nonexistent\ngateway:x:10001:10001:gateway:/:/nonexistent\n' >"$tree/etc/passwd"
printf 'root:x:0:\ngateway:x:10001:\n' >"$tree/etc/group"
printf 'hosts: files dns\n' >"$tree/etc/nsswitch.conf"
printf 'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="gateway, with libraries of Debian 12"\n' >"$tree/etc/os-release"
chmod 644 "$tree"/etc/passwd "$tree"/etc/group "$tree"/etc/nsswitch.conf "$tree"/etc/os-release "$tree"/etc/ssl/certs/*
mkdir -m 1777 "$tree/tmp"
chmod 1777 "$tree/tmp"
