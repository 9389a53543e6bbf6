"""Pays for an address by PyPI's x402, unchanged, and prints what came of it: pay.py URL, with PAYER_KEY."""

import base64
import json
import os
import sys

from eth_account import Account
from x402 import x402ClientSync
from x402.http.clients import x402_requests
from x402.mechanisms.evm import EthAccountSigner
from x402.mechanisms.evm.exact.register import register_exact_evm_client

client = x402ClientSync()
register_exact_evm_client(client, EthAccountSigner(Account.from_key(os.environ["PAYER_KEY"])))
with x402_requests(client) as session:
    answer = session.get(sys.argv[1])
header = answer.headers.get("payment-response") or answer.headers.get("x-payment-response")
settlement = json.loads(base64.b64decode(header)) if header else None
print(json.dumps({"status": answer.status_code, "settlement": settlement, "body": answer.text}))
