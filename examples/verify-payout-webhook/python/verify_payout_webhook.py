import hashlib
import hmac
import json
import time

MAX_AGE_SECONDS = 600


class Refused(Exception):
    """Not to be trusted: answer 401."""


def verify_payout_webhook(raw_body, signature, secret, remember, now=None):
    """Returns the event, or None if it was handled before or is a test (answer 200 and do nothing).

    raw_body: the very bytes received. Parsing and serialising again gives other bytes.
    signature: the header X-Gateway-Signature, or None.
    remember(event_id): stores the id under a unique key and says whether it was new. Do it in the transaction that
    books the event: an id that is stored although nothing was booked loses the event.
    """
    expected = hmac.new(secret.encode(), raw_body, hashlib.sha256).hexdigest()
    # As bytes: compare_digest refuses text beyond ASCII. It checks the length itself.
    if not hmac.compare_digest((signature or "").encode(), expected.encode()):
        raise Refused("forged")
    event = json.loads(raw_body)
    now = time.time() if now is None else now
    if abs(now - event["eventAt"]) > MAX_AGE_SECONDS:
        raise Refused("stale")
    # Made by POST /v1/webhooks/test or gatewayctl check-receiver: nothing was paid.
    if (event.get("_gateway") or {}).get("test") is True:
        return None
    # The id of the signed body, not of the header, which anyone could have changed.
    return event if remember(event["eventId"]) else None
