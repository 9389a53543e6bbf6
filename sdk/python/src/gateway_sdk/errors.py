"""What this library raises, but for wrong arguments (TypeError, ValueError)."""

from __future__ import annotations

import json
from typing import Any, Optional


class GatewayError(Exception):
    """Anything below."""


class ConnectionFailed(GatewayError):
    """No answer came, in all attempts. What was asked for may have happened."""

    def __init__(self, message: str, idempotency_key: Optional[str] = None):
        super().__init__(message)
        # Repeat a create with this key, and it happens once.
        self.idempotency_key = idempotency_key


class ApiError(GatewayError):
    """An answer that is an error. Branch on `code`; `message` may change."""

    def __init__(self, status: int, code: str, message: str, details: Any = None, retry_after: Optional[int] = None):
        super().__init__(f"{code}: {message}")
        self.status = status
        # `code` of the payment API and of non-custodial payouts, `kind` of mass payouts.
        self.code = code
        self.message = message
        # More for a program, with some errors of payouts.
        self.details = details
        # Seconds to wait before the next request, if the answer says so.
        self.retry_after = retry_after


class InvalidRequest(ApiError):
    """400, 413, 422: the request can never succeed as it is."""


class AuthenticationFailed(ApiError):
    """401: the API key is missing, malformed or unknown."""


class PermissionDenied(ApiError):
    """403: the merchant is suspended."""


class NotFound(ApiError):
    """404: nothing of this merchant has that id."""


class Conflict(ApiError):
    """409: the state does not allow it, or the idempotency key was used for another request."""


class RateLimited(ApiError):
    """429: more than 60 requests within 60 seconds, and `Retry-After` was above `max_wait`."""


class QuotaExceeded(ApiError):
    """429: too many open invoices. Repeating helps only after some have ended."""


class ServerError(ApiError):
    """5xx, and any answer that is not the gateway's."""


class WebhookRefused(GatewayError):
    """A delivery that is not to be trusted; `reason` is `forged` or `stale`."""

    def __init__(self, reason: str):
        super().__init__(reason)
        self.reason = reason


_BY_CODE = {"RATE_LIMIT_EXCEEDED": RateLimited, "rate_limited": RateLimited, "QUOTA_EXCEEDED": QuotaExceeded}
_BY_STATUS = {
    400: InvalidRequest, 401: AuthenticationFailed, 403: PermissionDenied, 404: NotFound, 409: Conflict,
    413: InvalidRequest, 422: InvalidRequest, 429: RateLimited,
}


def refusal(status: int, text: bytes, retry_after: Optional[int]) -> ApiError:
    """The three envelopes of the API, or something else that a proxy answered."""
    try:
        body = json.loads(text)
    except ValueError:
        body = None
    body = body if isinstance(body, dict) else {}
    inner = body["error"] if isinstance(body.get("error"), dict) else body
    code = inner.get("kind", inner.get("code"))
    code = code if isinstance(code, str) else "INTERNAL_ERROR"
    message = str(inner.get("message", f"HTTP {status}"))
    kind = _BY_CODE.get(code) or _BY_STATUS.get(status) or ServerError
    return kind(status, code, message, inner.get("details"), retry_after)
