"""What the drivers of the Python clients share: a merchant, a receiver of webhooks, and the answers."""

import http.server
import json
import os
import subprocess
import sys
import threading
import time

BASE_URL = os.environ["GATEWAY_BASE_URL"]
PATIENCE = 60


def gatewayctl(*arguments):
    ran = subprocess.run([os.environ["GATEWAYCTL"], "--json", *arguments], capture_output=True, timeout=60, check=False)
    if ran.returncode:
        sys.exit(f"gatewayctl {' '.join(arguments)}: {ran.stdout.decode()}{ran.stderr.decode()}")
    return json.loads(ran.stdout)


def merchant(name):
    made = gatewayctl("merchant", "create", "--name", name)
    return made["api_key"], made["webhook_secret"]


def pay(payment):
    gatewayctl("simulate", "deposit", "--payment-id", payment["payment_id"], "--amount", str(payment["pay_amount"]))


class Receiver:
    """Keeps the raw body and the signature of each webhook, by its payment_id."""

    def __init__(self):
        self.got = {}
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.got[json.loads(body)["payment_id"]] = body.decode(), self.headers["x-gateway-sig"]
                self.send_response(200)
                self.end_headers()

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{server.server_port}/ipn"

    def of(self, payment_id):
        return until(lambda: self.got.get(payment_id))


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


def refused(call, status, code):
    told(call, f"{status} `{code}`")
