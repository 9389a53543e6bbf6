#!/usr/bin/env bash
# Prints the path of schemathesis, which tests the API with requests inside and outside of its
# OpenAPI description.
set -euo pipefail

dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/clone.sh
. "$dir/clone.sh"
# shellcheck source=scripts/pypi.sh
. "$dir/pypi.sh"

python_tool schemathesis 4.32.1
echo "$python_folder/bin/schemathesis"
