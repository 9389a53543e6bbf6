#!/usr/bin/env bash
# Prints the path of a Python that can check manifests against the schemas of Kubernetes.
set -euo pipefail

dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/clone.sh
. "$dir/clone.sh"
# shellcheck source=scripts/pypi.sh
. "$dir/pypi.sh"

python_tool kubernetes-validate 1.37.0 pyyaml==6.0.3
echo "$python_folder/bin/python"
