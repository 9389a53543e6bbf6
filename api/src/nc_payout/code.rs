//! The codes of refusal, each with its status and its meaning. Frozen: codes are only ever added.

use axum::http::StatusCode;

/// The codes that a client branches on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    InvalidRequest,
    InvalidAddress,
    UnsupportedNetwork,
    UnsupportedCurrency,
    InvalidAmount,
    AmountBelowDust,
    TooManyItems,
    DuplicateReference,
    ApiKeyMissing,
    ApiKeyMalformed,
    ApiKeyNotFound,
    MerchantSuspended,
    PayoutNotFound,
    IdempotencyConflict,
    InvalidState,
    PayoutExpired,
    NonceUsed,
    InputUnavailable,
    InsufficientFunds,
    InsufficientGas,
    SignatureMismatch,
    BroadcastRejected,
    RateLimitExceeded,
    InternalError,
    NodeUnavailable,
    NetworkFeeTooHigh,
}

impl Code {
    pub const OF_CREATE: &[Self] = &[
        Self::InvalidRequest,
        Self::InvalidAddress,
        Self::UnsupportedNetwork,
        Self::UnsupportedCurrency,
        Self::InvalidAmount,
        Self::AmountBelowDust,
        Self::TooManyItems,
        Self::DuplicateReference,
        Self::IdempotencyConflict,
        Self::InputUnavailable,
        Self::InsufficientFunds,
        Self::InsufficientGas,
        Self::NodeUnavailable,
        Self::NetworkFeeTooHigh,
    ];
    pub const OF_REFRESH: &[Self] = &[
        Self::InvalidRequest,
        Self::InvalidAddress,
        Self::UnsupportedNetwork,
        Self::TooManyItems,
        Self::PayoutNotFound,
        Self::InvalidState,
        Self::PayoutExpired,
        Self::NonceUsed,
        Self::InputUnavailable,
        Self::InsufficientFunds,
        Self::InsufficientGas,
        Self::NodeUnavailable,
        Self::NetworkFeeTooHigh,
    ];
    pub const OF_SUBMIT: &[Self] = &[
        Self::InvalidRequest,
        Self::UnsupportedNetwork,
        Self::TooManyItems,
        Self::PayoutNotFound,
        Self::InvalidState,
        Self::PayoutExpired,
        Self::InsufficientFunds,
        Self::InsufficientGas,
        Self::SignatureMismatch,
        Self::BroadcastRejected,
        Self::NodeUnavailable,
    ];
    pub const OF_CANCEL: &[Self] = &[Self::PayoutNotFound, Self::InvalidState];
    /// Errors that every operation can answer before it looks at the request, and when it breaks.
    pub const OF_ALL: &[Self] = &[
        Self::ApiKeyMissing,
        Self::ApiKeyMalformed,
        Self::ApiKeyNotFound,
        Self::MerchantSuspended,
        Self::RateLimitExceeded,
        Self::InternalError,
    ];

    pub const fn status(self) -> StatusCode {
        match self {
            Self::InvalidRequest
            | Self::InvalidAddress
            | Self::UnsupportedNetwork
            | Self::UnsupportedCurrency
            | Self::InvalidAmount
            | Self::AmountBelowDust
            | Self::TooManyItems
            | Self::DuplicateReference => StatusCode::BAD_REQUEST,
            Self::ApiKeyMissing | Self::ApiKeyMalformed | Self::ApiKeyNotFound => {
                StatusCode::UNAUTHORIZED
            }
            Self::MerchantSuspended => StatusCode::FORBIDDEN,
            Self::PayoutNotFound => StatusCode::NOT_FOUND,
            Self::IdempotencyConflict
            | Self::InvalidState
            | Self::PayoutExpired
            | Self::NonceUsed => StatusCode::CONFLICT,
            Self::InputUnavailable
            | Self::InsufficientFunds
            | Self::InsufficientGas
            | Self::SignatureMismatch
            | Self::BroadcastRejected => StatusCode::UNPROCESSABLE_ENTITY,
            Self::RateLimitExceeded => StatusCode::TOO_MANY_REQUESTS,
            Self::InternalError => StatusCode::INTERNAL_SERVER_ERROR,
            Self::NodeUnavailable | Self::NetworkFeeTooHigh => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    pub const fn as_str(self) -> &'static str {
        self.entry().0
    }

    /// The meaning of the code, whatever the request.
    pub const fn meaning(self) -> &'static str {
        self.entry().1
    }

    #[expect(clippy::too_many_lines, reason = "a table, one entry a code")]
    const fn entry(self) -> (&'static str, &'static str) {
        match self {
            Self::InvalidRequest => {
                ("INVALID_REQUEST", "the request cannot be read; the message names the first fault")
            }
            Self::InvalidAddress => (
                "INVALID_ADDRESS",
                "an address is none of this network, is this gateway's own, refuses the transfer, or is to pay and has no single key",
            ),
            Self::UnsupportedNetwork => {
                ("UNSUPPORTED_NETWORK", "there are no non-custodial payouts on this network here")
            }
            Self::UnsupportedCurrency => {
                ("UNSUPPORTED_CURRENCY", "the currency is not offered on this network")
            }
            Self::InvalidAmount => (
                "INVALID_AMOUNT",
                "an amount is not a plain decimal above zero that fits the currency",
            ),
            Self::AmountBelowDust => {
                ("AMOUNT_BELOW_DUST", "an amount is below what the network carries")
            }
            Self::TooManyItems => (
                "TOO_MANY_ITEMS",
                "a payout has at most 100 outputs and 100 inputs, and what made its inputs has a limit too",
            ),
            Self::DuplicateReference => {
                ("DUPLICATE_REFERENCE", "two outputs have the same reference")
            }
            Self::ApiKeyMissing => ("API_KEY_MISSING", "the x-api-key header is missing"),
            Self::ApiKeyMalformed => {
                ("API_KEY_MALFORMED", "the x-api-key header is not an API key")
            }
            Self::ApiKeyNotFound => ("API_KEY_NOT_FOUND", "no merchant has this API key"),
            Self::MerchantSuspended => {
                ("MERCHANT_SUSPENDED", "this merchant is suspended; contact support")
            }
            Self::PayoutNotFound => ("PAYOUT_NOT_FOUND", "no payout of this merchant has this id"),
            Self::IdempotencyConflict => {
                ("IDEMPOTENCY_CONFLICT", "the Idempotency-Key was used with another request")
            }
            Self::InvalidState => {
                ("INVALID_STATE", "the payout is past the state in which this can be asked for")
            }
            Self::PayoutExpired => {
                ("PAYOUT_EXPIRED", "the payout expired unsigned; create it again")
            }
            Self::NonceUsed => (
                "NONCE_USED",
                "a nonce of fromAddress was used since the payout was built: submit what you signed, or cancel the payout and create it again",
            ),
            Self::InputUnavailable => (
                "INPUT_UNAVAILABLE",
                "an input does not exist, is spent, waits for a block, or is not at fromAddress; details list all of them",
            ),
            Self::InsufficientFunds => (
                "INSUFFICIENT_FUNDS",
                "fromAddress, or the inputs that were named, have less than is to be paid",
            ),
            Self::InsufficientGas => (
                "INSUFFICIENT_GAS",
                "fromAddress, or the inputs that were named, have too little of the network's coin for what the network may take",
            ),
            Self::SignatureMismatch => (
                "SIGNATURE_MISMATCH",
                "what was signed is not what was built, or was signed by another key",
            ),
            Self::BroadcastRejected => (
                "BROADCAST_REJECTED",
                "the network would not take what was signed, and nothing was stored; refresh the payout",
            ),
            Self::RateLimitExceeded => (
                "RATE_LIMIT_EXCEEDED",
                "more than 60 requests in 60 seconds; retry after 60 seconds",
            ),
            Self::InternalError => ("INTERNAL_ERROR", "something failed on our side; retry later"),
            Self::NodeUnavailable => {
                ("NODE_UNAVAILABLE", "the network's node does not answer as it should; retry later")
            }
            Self::NetworkFeeTooHigh => (
                "NETWORK_FEE_TOO_HIGH",
                "the network asks more for gas now than is ever offered here; retry later",
            ),
        }
    }
}
