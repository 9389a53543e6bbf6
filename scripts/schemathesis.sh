#!/usr/bin/env bash
# Prints the path of schemathesis, which asks the API everything its description allows and much that it does not.
set -euo pipefail

dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/clone.sh
. "$dir/clone.sh"
# shellcheck source=scripts/pypi.sh
. "$dir/pypi.sh"

python_tool schemathesis 4.32.1
echo "$python_folder/bin/schemathesis"
