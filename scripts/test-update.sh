#!/usr/bin/env bash
# A rolling update from another commit to this tree and back again, under load: its programs run on
# this tree's schema first and are replaced one by one. No request may be lost, and no work.
#
#   test-update.sh [COMMIT]     the last release by default; without one, the commit before
set -euo pipefail

dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/clone.sh
. "$dir/clone.sh"

release=$(git -C "$root" describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null || echo HEAD~1)
commit=$(git -C "$root" rev-parse --verify "${1:-$release}^{commit}")
before=$run_dir/update
cleanup() { git -C "$root" worktree remove --force "$before" 2>/dev/null || true; }
trap cleanup EXIT
cleanup
step update "building the programs of $(git -C "$root" log -1 --format='%h %s' "$commit")"
git -C "$root" worktree add --quiet --detach "$before" "$commit"
(cd "$before" && CARGO_TARGET_DIR=$root/target/update cargo build --locked -p gateway-api -p gateway-workers)

step update "replacing them by those of this tree"
export GATEWAY_TEST_PREVIOUS=$root/target/update/debug
"$dir/test.sh" --workspace --test it -- --exact --nocapture fault::two_versions::a_rolling_update_and_the_way_back_under_load_lose_no_request_and_no_work
