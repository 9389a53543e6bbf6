"""Receivers of webhooks, for any framework."""

from __future__ import annotations

import logging
import threading
from typing import Any, Callable, Optional, Set

from . import contract
from .errors import WebhookRefused
from .webhooks import (
    PAYMENT_SIGNATURE_HEADER, PAYOUT_SIGNATURE_HEADER, Secret, is_test, verify_payment_ipn, verify_payout_webhook,
)

# once(key, act): runs act(transaction) unless key was stored before, and stores key in the same
# transaction. If act raises, nothing is stored: the delivery comes again.
Act = Callable[[Any], None]
Once = Callable[[str, Act], None]

# Far above any delivery.
BODY_MAX = 1024 * 1024

_LOG = logging.getLogger("gateway_sdk")


def once_in_memory() -> Once:
    """Keys in memory, for trying out: a restart forgets them, a second process does not know them."""
    seen: Set[str] = set()
    lock = threading.Lock()

    def once(key: str, act: Act) -> None:
        with lock:
            if key not in seen:
                act(None)
                seen.add(key)

    return once


class Receiver:
    """The same receiver for each kind of server."""

    header: str
    # Answered to what is not to be trusted.
    refused: int

    def _act(self, raw_body: bytes, signature: Optional[str]) -> None:
        raise NotImplementedError

    def handle(self, raw_body: bytes, signature: Optional[str]) -> int:
        """The status to answer. raw_body: the bytes as received."""
        if len(raw_body) > BODY_MAX:
            return self.refused
        try:
            self._act(raw_body, signature)
        except WebhookRefused as refusal:
            _LOG.warning("a webhook was refused: %s", refusal.reason)
            return self.refused
        except Exception:
            _LOG.exception("a webhook is answered 500 and comes again")
            return 500
        return 200

    def fastapi(self) -> Callable[..., Any]:
        """An endpoint: `app.post("/ipn")(receiver.fastapi())`. The callbacks run in a thread."""
        from starlette.concurrency import run_in_threadpool
        from starlette.requests import Request
        from starlette.responses import Response

        async def endpoint(request: Any) -> Any:
            body = b""
            async for part in request.stream():
                body += part
                if len(body) > BODY_MAX:
                    break
            return Response(status_code=await run_in_threadpool(self.handle, body, request.headers.get(self.header)))

        # FastAPI reads it to pass the request; a name inside this function is none that it finds.
        endpoint.__annotations__ = {"request": Request}
        return endpoint

    def django(self) -> Callable[..., Any]:
        """A view: `path("ipn", receiver.django())`. Its body is the raw one."""
        from django.http import HttpResponse

        def view(request: Any) -> Any:
            if request.method != "POST":
                return HttpResponse(status=405)
            return HttpResponse(status=self.handle(request.body, request.headers.get(self.header)))

        # The signature is what proves where it came from.
        view.csrf_exempt = True  # type: ignore[attr-defined]
        return view


class PaymentIpnReceiver(Receiver):
    """Receives payment IPNs: verifies, keeps notices, renewals and tests apart, acts once per payment and status.

    on_payment(payment, transaction): the payment reached a status, told once. Compare order_id,
        price_amount and price_currency with your own record, then ship on `finished`.
    on_notice(notice, payment, transaction): money came beside or after the payment. Show it to a
        person, never ship on it.
    on_renewal(renewal, payment, transaction): a subscription is due. Mail renewal_url to the
        subscriber unless the gateway does; ship nothing. payment is the latest invoice, mostly
        `finished`.
    """

    header = PAYMENT_SIGNATURE_HEADER
    refused = 401

    def __init__(
        self, secret: Secret, once: Once, on_payment: Callable[[contract.PaymentIpn, Any], None],
        on_notice: Optional[Callable[[contract.Notice, contract.PaymentIpn, Any], None]] = None,
        on_renewal: Optional[Callable[[contract.Renewal, contract.PaymentIpn, Any], None]] = None,
    ):
        self._secret, self._once = secret, once
        self._on_payment, self._on_notice, self._on_renewal = on_payment, on_notice, on_renewal

    def _act(self, raw_body: bytes, signature: Optional[str]) -> None:
        event = verify_payment_ipn(raw_body, signature, self._secret)
        if event.is_test:
            return

        def act(transaction: Any) -> None:
            if event.notice is not None:
                if self._on_notice is not None:
                    self._on_notice(event.notice, event.payment, transaction)
            elif event.renewal is not None:
                if self._on_renewal is not None:
                    self._on_renewal(event.renewal, event.payment, transaction)
            else:
                self._on_payment(event.payment, transaction)

        self._once(event.key, act)


class PayoutWebhookReceiver(Receiver):
    """Receives webhooks of mass payouts: verifies, keeps tests apart, and acts once per event.

    on_event(event, transaction): events may overtake each other, so never let an older
        order.updatedAt replace a newer one.
    """

    header = PAYOUT_SIGNATURE_HEADER
    # On this channel a 4xx drops the event for good, also when it is the own secret or clock that
    # is wrong; a 5xx is tried again and kept.
    refused = 500

    def __init__(self, secret: Secret, once: Once, on_event: Callable[[contract.PayoutWebhook, Any], None]):
        self._secret, self._once, self._on_event = secret, once, on_event

    def _act(self, raw_body: bytes, signature: Optional[str]) -> None:
        event = verify_payout_webhook(raw_body, signature, self._secret)
        if is_test(event):
            return
        self._once(event["eventId"], lambda transaction: self._on_event(event, transaction))
