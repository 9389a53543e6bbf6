"""Calls the SDK as sdk/conformance.py asks: one JSON object a line in, one out."""

import json
import logging
import socket
import sys
import threading
import time
import traceback
from decimal import Decimal
from wsgiref.simple_server import WSGIRequestHandler, make_server

import django
import uvicorn
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.urls import path
from fastapi import FastAPI

import gateway_sdk as sdk

clients = {}
acts = {"payments": [], "notices": [], "renewals": [], "events": []}
failing = []
# What the scenario's failures would print.
logging.disable(logging.CRITICAL)


def on_payment(payment, _):
    if failing:
        failing.pop()
        raise RuntimeError("as the scenario asked")
    acts["payments"].append(f"{payment['payment_id']} {payment['payment_status']} {payment['actually_paid']:f}")


def on_notice(notice, payment, _):
    acts["notices"].append(f"{notice['type']} {notice['amount']}")


def on_renewal(renewal, payment, _):
    acts["renewals"].append(f"{renewal['day_offset']} {renewal['renewal_url']} {payment['payment_status']}")


def on_event(event, _):
    acts["events"].append(f"{event['eventType']} {event['order']['id']} {event['order']['state']}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


# What Django reads of this module.
urlpatterns = []


class Quiet(WSGIRequestHandler):
    def log_message(self, *_):
        pass


def listen(paymentSecret, payoutSecret):
    """Payments by FastAPI, payouts by Django."""
    secrets = ["the one before", paymentSecret]
    ipn = sdk.PaymentIpnReceiver(secrets, sdk.once_in_memory(), on_payment, on_notice, on_renewal)
    app = FastAPI()
    app.post("/ipn")(ipn.fastapi())
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="critical"))
    threading.Thread(target=server.run, daemon=True).start()
    payouts = sdk.PayoutWebhookReceiver(payoutSecret, sdk.once_in_memory(), on_event)
    settings.configure(
        ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], SECRET_KEY="of this test", LOGGING_CONFIG=None,
        MIDDLEWARE=["django.middleware.common.CommonMiddleware", "django.middleware.csrf.CsrfViewMiddleware"],
    )
    django.setup()
    urlpatterns.append(path("payouts", payouts.django()))
    other = make_server("127.0.0.1", 0, get_wsgi_application(), handler_class=Quiet)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    while not server.started:
        time.sleep(0.01)
    return {"payments": f"http://127.0.0.1:{port}/ipn", "payouts": f"http://127.0.0.1:{other.server_port}/payouts"}


def open_client(name, baseUrl, apiKey, timeout=30, retryFor=60):
    clients[name] = sdk.Gateway(baseUrl, apiKey, timeout=timeout, retry_for=retryFor)
    assert apiKey not in repr(vars(clients[name]))
    return name


def verify_payment(body, signature, secret, now):
    event = sdk.verify_payment_ipn(body.encode(), signature, secret, now)
    kind = "notice" if event.notice else "renewal" if event.renewal else "payment"
    return {"kind": kind, "key": event.key, "event": event.payment, "notice": event.notice, "renewal": event.renewal}


def verify_payout(body, signature, secret, now):
    event = sdk.verify_payout_webhook(body.encode(), signature, secret, now)
    return {"kind": "payout", "key": event["eventId"], "event": event}


def fail_next():
    failing.append(True)
    return True


OTHER = {
    "open": open_client, "listen": listen, "acts": lambda: acts, "failNext": fail_next,
    "verifyPaymentIpn": verify_payment, "verifyPayoutWebhook": verify_payout,
}


def snake(name):
    return "".join("_" + c.lower() if c.isupper() else c for c in name)


def call(op, client=None, **given):
    if op in OTHER:
        return OTHER[op](**given)
    of = clients[client]
    group, _, name = op.rpartition(".")
    if name == "events":
        return list(of.events(**given["query"]))
    if name == "resendEvents":
        return of.resend_events(**given["body"])
    if name in ("testWebhook", "sandboxDeposit"):
        return getattr(of, snake(name))(**given["body"])
    if not group and "id" in given:
        return getattr(of, snake(name))(given["id"])
    if not group:
        return getattr(of, snake(name))(**given.get("query", {}))
    of = getattr(of, snake(group))
    key = {"idempotency_key": given["idempotencyKey"]} if "idempotencyKey" in given else {}
    identity = [given["id"]] if "id" in given else []
    if name == "create":
        return of.create(**given["body"], **key)
    if name == "createCsv":
        return of.create_csv(given["csv"], **given["order"])
    if name == "confirm":
        return of.confirm(*identity, quote_id=given["body"].get("quoteId"))
    if name == "submit":
        return of.submit(*identity, given["signed"])
    if name == "refresh":
        return of.refresh(*identity, given["feeLevel"])
    if name == "wait":
        return of.wait(*identity, timeout=given["timeout"], interval=given["interval"])
    query = {snake(k): v for k, v in given.get("query", {}).items()}
    answer = getattr(of, snake(name))(*identity, **query)
    if name.startswith("each"):
        return [item["payment_id" if group == "payments" else "id"] for item in answer]
    return answer


KINDS = [
    (sdk.AuthenticationFailed, "Authentication"), (sdk.Conflict, "Conflict"), (sdk.InvalidRequest, "InvalidRequest"),
    (sdk.NotFound, "NotFound"), (sdk.PermissionDenied, "Permission"), (sdk.QuotaExceeded, "Quota"),
    (sdk.RateLimited, "RateLimit"), (sdk.ServerError, "Server"), (sdk.ConnectionFailed, "Connection"),
    (sdk.WebhookRefused, "Webhook"), ((TypeError, ValueError), "Argument"),
]
FIELDS = {"code": "code", "status": "status", "details": "details", "retry_after": "retryAfter", "reason": "reason",
          "idempotency_key": "idempotencyKey"}


def failure(error):
    kind = next((name for known, name in KINDS if isinstance(error, known)), traceback.format_exc())
    found = {theirs: getattr(error, ours) for ours, theirs in FIELDS.items() if hasattr(error, ours)}
    return {"type": kind, "message": str(error), **found}


def digits(value):
    assert isinstance(value, Decimal), value
    return format(value, "f")


for line in sys.stdin:
    try:
        answer = {"ok": call(**json.loads(line))}
    except Exception as error:
        answer = {"error": failure(error)}
    print(json.dumps(answer, default=digits), flush=True)
