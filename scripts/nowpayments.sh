#!/usr/bin/env bash
# Runs a published NOWPayments client, unchanged, from create to finished against a running gateway,
# and prints what each of its calls came to: one JSON object a line, {"call": …, "result": …}.
#
#   nowpayments.sh nowpayments-api-js | nowpayments-py | nowpayment
#
# The gateway is the sandbox of `make up`, or what GATEWAY_BASE_URL, GATEWAYCTL and the environment
# of that program name. The tests call it so (tests/it/api/nowpayments_clients.rs).
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
drivers=$root/tests/nowpayments

# Each client in an environment of its own: two of them share the name of their package.
case ${1:-} in
    nowpayments-api-js)
        node=$("$dir/languages.sh" node)
        npm_tool nowpayments-api-js @nowpaymentsio/nowpayments-api-js@1.0.5
        NODE_MODULES=$npm_modules exec "$node" "$drivers/drive_api_js.mjs" 8>&- 9>&-
        ;;
    nowpayments-py)
        python_tool nowpayments-py 1.0.5 requests==2.32.5 >&2
        exec "$python_folder/bin/python" -B "$drivers/drive_nowpayments_py.py" 8>&- 9>&-
        ;;
    nowpayment)
        python_tool nowpayment 1.9.0 requests==2.32.5 >&2
        exec "$python_folder/bin/python" -B "$drivers/drive_nowpayment.py" 8>&- 9>&-
        ;;
    *) die "usage: nowpayments.sh nowpayments-api-js|nowpayments-py|nowpayment" ;;
esac
