import hashlib
import hmac
import json
import time

MAX_AGE_SECONDS = 600


class Refused(Exception):
    """Not to be trusted: answer 401."""


def verify_ipn(raw_body, signature, secret, remember, now=None):
    """Returns the event, or None if it was handled before (answer 200 and do nothing).

    raw_body: the very bytes received. Parsing and serialising again gives other bytes.
    signature: the header x-gateway-sig, or None.
    remember(event_id): stores the id under a unique key and says whether it was new. Do it in the transaction that
    fulfils the order: an id that is stored although the order was not fulfilled loses the payment.
    """
    expected = hmac.new(secret.encode(), raw_body, hashlib.sha512).hexdigest()
    # As bytes: compare_digest refuses text beyond ASCII. It checks the length itself.
    if not hmac.compare_digest((signature or "").encode(), expected.encode()):
        raise Refused("forged")
    event = json.loads(raw_body)
    now = time.time() if now is None else now
    if abs(now - event["event_at"]) > MAX_AGE_SECONDS:
        raise Refused("stale")
    # The id of the signed body, not of the header, which anyone could have changed.
    return event if remember(event["event_id"]) else None
