#!/usr/bin/env bash
# Runs a published CoinPayments client, unchanged, from create to its verified IPN against a running
# gateway, and prints what each of its calls came to: one JSON object a line, {"call": …, "result": …}.
#
#   legacy.sh coinpayments | coinpayments-ipn | coinpayments-py | pycoinpayments | asyncoinpayments
#
# The gateway is the sandbox of `make up`, or what GATEWAY_BASE_URL, GATEWAYCTL and the environment
# of that program name. The tests call it so (tests/it/legacy/clients.rs).
set -euo pipefail

dir=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=scripts/clone.sh
. "$dir/clone.sh"
# shellcheck source=scripts/npm.sh
. "$dir/npm.sh"
# shellcheck source=scripts/pypi.sh
. "$dir/pypi.sh"

mkdir -p "$run_dir/log"
if [ -z "${GATEWAY_BASE_URL:-}" ]; then
    [ -s "$run_dir/stack.env" ] || die "no sandbox is up: make up"
    set -a
    # shellcheck source=/dev/null
    . "$run_dir/stack.env"
    set +a
fi
export GATEWAYCTL=${GATEWAYCTL:-${CARGO_TARGET_DIR:-$root/target}/release/gatewayctl}
[ -x "$GATEWAYCTL" ] || die "GATEWAYCTL is no program: $GATEWAYCTL"
drivers=$root/tests/legacy

# Each client in an environment of its own: two of them share the name of their package.
case ${1:-} in
    coinpayments | coinpayments-ipn)
        node=$("$dir/languages.sh" node)
        npm_tool coinpayments coinpayments@2.2.0 coinpayments-ipn@1.0.0
        NODE_MODULES=$npm_modules exec "$node" "$drivers/drive.mjs" "$1" 8>&- 9>&-
        ;;
    coinpayments-py)
        python_tool coinpayments-py 0.1.0 requests==2.32.5 >&2
        exec "$python_folder/bin/python" -B "$drivers/drive_coinpayments_py.py" 8>&- 9>&-
        ;;
    pycoinpayments)
        python_tool pycoinpayments 1.0.0 >&2
        exec "$python_folder/bin/python" -B "$drivers/drive_pycoinpayments.py" 8>&- 9>&-
        ;;
    asyncoinpayments)
        python_tool asyncoinpayments 0.0.8a0 >&2
        exec "$python_folder/bin/python" -B "$drivers/drive_asyncoinpayments.py" 8>&- 9>&-
        ;;
    *) die "usage: legacy.sh coinpayments|coinpayments-ipn|coinpayments-py|pycoinpayments|asyncoinpayments" ;;
esac
