"""What the drivers of the Python clients share: a merchant, a receiver of IPNs, and the answers."""

import hashlib
import hmac
import http.server
import json
import os
import subprocess
import sys
import threading
import time
import urllib.parse

API = os.environ["GATEWAY_BASE_URL"] + "/legacy/api.php"
PATIENCE = 60
LETTERS = "2 × café (it's *new*!) ~ a+b=c & d"


def gatewayctl(*arguments):
    ran = subprocess.run([os.environ["GATEWAYCTL"], "--json", *arguments], capture_output=True, timeout=60, check=False)
    if ran.returncode:
        sys.exit(f"gatewayctl {' '.join(arguments)}: {ran.stdout.decode()}{ran.stderr.decode()}")
    return json.loads(ran.stdout)


def merchant(name):
    """A merchant's keys, and its webhook secret, with which IPNs are signed."""
    made = gatewayctl("merchant", "create", "--name", name)
    return gatewayctl("merchant", "legacy-keys", made["merchant_id"], "--withdrawals"), made["webhook_secret"]


def pay(transaction):
    payment_id = transaction["checkout_url"].rsplit("/", 1)[1]
    gatewayctl("simulate", "deposit", "--payment-id", payment_id, "--amount", transaction["amount"])


RECIPIENT = "0x" + "aa00000001".rjust(40, "0")


def pay_address(address, amount):
    where = ("--network", "polygon", "--address", address, "--currency", "USDTMATIC")
    gatewayctl("simulate", "deposit", *where, "--amount", amount)


def fund(withdrawal):
    gatewayctl("simulate", "deposit", "--payout", withdrawal["payout_id"])


class Receiver:
    """Keeps the raw body and the signature of the last IPN about each transaction, withdrawal or address."""

    def __init__(self):
        self.got = {}
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                fields = urllib.parse.parse_qs(body.decode())
                about = "address" if fields["ipn_type"] == ["deposit"] else "id" if "id" in fields else "txn_id"
                receiver.got[fields[about][0]] = body, self.headers["HMAC"]
                self.send_response(200)
                self.end_headers()

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{server.server_port}/ipn"

    def of(self, subject):
        return until(lambda: self.got.get(subject))


def verified(receiver, subject, secret):
    """The fields of an IPN, whose signature is over the raw bytes, as the documentation of CoinPayments says."""
    body, signature = receiver.of(subject)
    expected = hmac.new(secret.encode(), body, hashlib.sha512).hexdigest()
    if not hmac.compare_digest(expected, signature):
        sys.exit(f"{subject}: {signature} is not the signature of {body}")
    return dict(urllib.parse.parse_qsl(body.decode()))


def is_genuine(receiver, transaction, secret, item_name):
    fields = verified(receiver, transaction["txn_id"], secret)
    return fields["status"] == "100" and fields["item_name"] == item_name


def order(receiver, **fields):
    usual = {"amount": 12.5, "currency1": "USD", "currency2": "USDT.POL", "buyer_email": "ada@example.com"}
    return {**usual, "ipn_url": receiver.url, **fields}


def until(ask, pause=1.5):
    """The first answer that counts; a merchant has 60 requests a minute."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        answer = ask()
        if answer:
            return answer
        time.sleep(pause)
    sys.exit(f"nothing came within {PATIENCE} s")


def told(call, result):
    print(json.dumps({"call": call, "result": result}), flush=True)


def works(call, answer, holds):
    """A call that does what its client expects."""
    if not holds:
        sys.exit(f"{call}: {answer}")
    told(call, "works")
    return answer


def refused(call, answer):
    if answer["error"] == "ok":
        sys.exit(f"{call}: {answer}")
    told(call, f'"{answer["error"]}"')
