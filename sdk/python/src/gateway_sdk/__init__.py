"""Client and webhook verification for the crypto payment gateway."""

from . import contract
from .client import Gateway
from .errors import (
    ApiError, AuthenticationFailed, Conflict, ConnectionFailed, GatewayError, InvalidRequest, NotFound, PermissionDenied,
    QuotaExceeded, RateLimited, ServerError, WebhookRefused,
)
from .receive import PaymentIpnReceiver, PayoutWebhookReceiver, once_in_memory
from .webhooks import PaymentEvent, is_test, verify_payment_ipn, verify_payout_webhook
from .x402 import Charge, RequirePayment, require_payment

__version__ = "0.1.0"
__all__ = [
    "ApiError", "AuthenticationFailed", "Charge", "Conflict", "ConnectionFailed", "Gateway", "GatewayError", "InvalidRequest",
    "NotFound", "PaymentEvent", "PaymentIpnReceiver", "PayoutWebhookReceiver", "PermissionDenied", "QuotaExceeded",
    "RateLimited", "RequirePayment", "ServerError", "WebhookRefused", "contract", "is_test", "once_in_memory", "require_payment",
    "verify_payment_ipn", "verify_payout_webhook",
]
