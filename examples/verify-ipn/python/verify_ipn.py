import hashlib
import hmac
import json
import time
from typing import NamedTuple, Optional

MAX_AGE_SECONDS = 600


class Refused(Exception):
    """Not to be trusted: answer 401."""


class Verified(NamedTuple):
    """At most one of the three; none if it was handled before or is a test (answer 200 and do nothing)."""

    # The payment reached this payment_status: the one event to act on.
    payment: Optional[dict] = None
    # Money came beside or after the payment, described in _gateway.notice. It is for a person and
    # changes nothing: its payment_status only repeats the state of the invoice.
    notice: Optional[dict] = None
    # A subscription is due, as _gateway.renewal says. Mail its renewal_url to the subscriber unless
    # the gateway does, and ship nothing: its payment_status, mostly finished, only repeats the
    # state of the latest invoice.
    renewal: Optional[dict] = None


def verify_ipn(raw_body, signature, secret, remember, now=None):
    """Returns the event as Verified: payment, notice, renewal = verify_ipn(...)

    raw_body: the very bytes received. Parsing and serialising again gives other bytes.
    signature: the header x-gateway-sig, or None.
    remember(key): stores the key in a unique column and returns true if it was new. Do it in the transaction that
    fulfils the order: a key that is stored although the order was not fulfilled loses the payment.
    """
    expected = hmac.new(secret.encode(), raw_body, hashlib.sha512).hexdigest()
    # As bytes: compare_digest refuses text beyond ASCII. It checks the length itself.
    if not hmac.compare_digest((signature or "").encode(), expected.encode()):
        raise Refused("forged")
    event = json.loads(raw_body)
    now = time.time() if now is None else now
    if abs(now - event["event_at"]) > MAX_AGE_SECONDS:
        raise Refused("stale")
    # Made by POST /v1/webhooks/test or gatewayctl check-receiver: nothing was paid.
    if (event.get("_gateway") or {}).get("test") is True:
        return Verified()
    # Each notice has an event id of its own and repeats the status: any buyer can cause many after
    # one payment. All fields are those of the signed body, never of a header.
    if (event.get("_gateway") or {}).get("notice"):
        return Verified(notice=event) if remember(event["event_id"]) else Verified()
    # So has each reminder of a renewal: seven days, seven events of the same payment and status.
    if (event.get("_gateway") or {}).get("renewal"):
        return Verified(renewal=event) if remember(event["event_id"]) else Verified()
    key = f"{event['payment_id']} {event['payment_status']}"
    return Verified(payment=event) if remember(key) else Verified()
