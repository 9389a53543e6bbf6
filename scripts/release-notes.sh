#!/usr/bin/env bash
# Prints the section of CHANGELOG.md for tag $1 (vX.Y.Z); fails if the tag is not the version in
# Cargo.toml or has no section.
set -euo pipefail

dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/clone.sh
. "$dir/clone.sh"

tag=${1:?the tag, such as v0.1.0}
version=$(sed -n '/^\[workspace.package\]/,/^$/ s/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml")
[ "$tag" = "v$version" ] || die "the tag is $tag, but Cargo.toml says version $version"
notes=$(awk -v heading="## $version" '
    /^## / { own = ($0 == heading || index($0, heading " ") == 1); next }
    own' "${CHANGELOG:-$root/CHANGELOG.md}")
[ -n "${notes//[[:space:]]/}" ] || die "CHANGELOG.md has no section '## $version': move what is under Unreleased there"
printf '%s\n' "$notes"
