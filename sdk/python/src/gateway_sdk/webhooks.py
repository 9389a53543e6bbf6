"""Verification. The two channels differ in header, hash and body: each has its own function."""

from __future__ import annotations

import hashlib
import hmac
import time
from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence, Union

from . import contract, exact
from .errors import WebhookRefused

PAYMENT_SIGNATURE_HEADER = "x-gateway-sig"
PAYOUT_SIGNATURE_HEADER = "x-gateway-signature"

# The greatest distance of a delivery's time from your clock.
_MAX_AGE_SECONDS = 600

# One secret, or two while the old one is being replaced.
Secret = Union[str, Sequence[str]]


class PaymentEvent(NamedTuple):
    """A payment IPN that verified."""

    payment: contract.PaymentIpn
    # Money came beside or after the payment. That is for a person: it changes nothing, and
    # payment_status only repeats the state of the invoice. Never ship on it. Without a notice, a
    # renewal and a test the payment reached its payment_status, the one kind of event to act on.
    notice: Optional[contract.Notice]
    # Act once per key.
    key: str
    # You, or your operator, tried the receiver. Nothing was paid: answer 200 and do nothing else.
    is_test: bool = False
    # A subscription is due. Mail renewal_url to the subscriber unless the gateway does, and ship
    # nothing: payment is the latest invoice as it stands, mostly finished.
    renewal: Optional[contract.Renewal] = None


def verify_payment_ipn(
    raw_body: bytes, signature: Optional[str], secret: Secret, now: Optional[float] = None
) -> PaymentEvent:
    """Verifies a payment IPN: header x-gateway-sig, HMAC-SHA-512. Raises WebhookRefused.

    raw_body: what was received, byte for byte. Parsing and serialising again gives other bytes.
    """
    _authentic(raw_body, signature, secret, hashlib.sha512)
    payment = _read(raw_body, exact.parse_payment)
    _fresh(payment.get("event_at"), now)
    part = payment.get("_gateway") or {}
    notice, renewal = part.get("notice") or None, part.get("renewal") or None
    of_event = notice or renewal or is_test(payment)
    key = payment["event_id"] if of_event else f"{payment['payment_id']} {payment['payment_status']}"
    return PaymentEvent(payment, notice, key, is_test(payment), renewal)


def is_test(event: Mapping[str, Any]) -> bool:
    """True of a webhook that was made for a test. Nothing was paid: answer 200 and do nothing else."""
    return (event.get("_gateway") or {}).get("test") is True


def verify_payout_webhook(
    raw_body: bytes, signature: Optional[str], secret: Secret, now: Optional[float] = None
) -> contract.PayoutWebhook:
    """Verifies a webhook of mass payouts: header X-Gateway-Signature, HMAC-SHA-256.

    Act once per eventId. Raises WebhookRefused.
    """
    _authentic(raw_body, signature, secret, hashlib.sha256)
    event = _read(raw_body, exact.parse)
    _fresh(event.get("eventAt"), now)
    return event


def _authentic(raw_body: bytes, signature: Optional[str], secret: Secret, hash: Callable[..., Any]) -> None:
    if not isinstance(raw_body, (bytes, bytearray)):
        raise TypeError("raw_body is the bytes that were received")
    secrets = [secret] if isinstance(secret, str) else list(secret)
    if not secrets or not all(secrets):
        raise ValueError("the webhook secret is empty")
    # As bytes: compare_digest refuses text beyond ASCII. It compares in constant time.
    given = (signature or "").encode("utf-8", "surrogatepass")
    ours = [hmac.compare_digest(given, hmac.new(s.encode(), raw_body, hash).hexdigest().encode()) for s in secrets]
    if not any(ours):
        raise WebhookRefused("forged")


def _read(raw_body: bytes, parse: Callable[[bytes], Any]) -> Any:
    try:
        body = parse(bytes(raw_body))
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise WebhookRefused("forged")
    return body


def _fresh(at: Any, now: Optional[float]) -> None:
    clock = time.time() if now is None else now
    if type(at) is not int or abs(clock - at) > _MAX_AGE_SECONDS:
        raise WebhookRefused("stale")
