//! The kinds of refusal, each with its status and its meaning. Frozen: kinds are only ever added.

use axum::http::StatusCode;

macro_rules! kinds {
    ($($kind:ident, $status:ident, $name:literal, $meaning:literal;)*) => {
        /// The kinds that a client branches on.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Kind {
            $($kind,)*
        }

        impl Kind {
            const fn entry(self) -> (StatusCode, &'static str, &'static str) {
                match self {
                    $(Self::$kind => (StatusCode::$status, $name, $meaning),)*
                }
            }
        }
    };
}

kinds! {
    InvalidRequest, BAD_REQUEST, "invalid_request",
        "the request cannot be read; the message names the first fault";
    InvalidIdempotencyKey, BAD_REQUEST, "invalid_idempotency_key",
        "`Idempotency-Key` must be sent once, with 1 to 255 characters";
    InvalidCsv, BAD_REQUEST, "invalid_csv",
        "cells of the file cannot be used; `details` lists up to 100 of them";
    EmptyBatch, BAD_REQUEST, "empty_batch",
        "there are no rows";
    TooManyRows, BAD_REQUEST, "too_many_rows",
        "an order has at most 1000 rows, on EVM networks 2000";
    InvalidAddress, BAD_REQUEST, "invalid_address",
        "an address is none, has a wrong checksum, or is this gateway's own";
    WrongNetworkAddress, BAD_REQUEST, "wrong_network_address",
        "an address belongs to another network";
    InvalidAmount, BAD_REQUEST, "invalid_amount",
        "an amount is not a plain decimal above zero that fits the currency";
    AmountBelowDust, BAD_REQUEST, "amount_below_dust",
        "an amount, less its share of the fees, is too small to be sent";
    DuplicateReference, BAD_REQUEST, "duplicate_reference",
        "two rows have one `reference`";
    UnsupportedNetwork, BAD_REQUEST, "unsupported_network",
        "there are no payouts on this network here";
    UnsupportedCurrency, BAD_REQUEST, "unsupported_currency",
        "the currency is not paid out on this network here";
    ApiKeyMissing, UNAUTHORIZED, "api_key_missing",
        "the `x-api-key` header is missing";
    ApiKeyMalformed, UNAUTHORIZED, "api_key_malformed",
        "the `x-api-key` header is no key";
    ApiKeyNotFound, UNAUTHORIZED, "api_key_not_found",
        "no merchant has this key";
    MerchantSuspended, FORBIDDEN, "merchant_suspended",
        "the merchant is suspended";
    PayoutsDisabled, FORBIDDEN, "payouts_disabled",
        "the operator has not switched payouts on";
    OrderNotFound, NOT_FOUND, "order_not_found",
        "the merchant has no order with this id in this family";
    IdempotencyConflict, CONFLICT, "idempotency_conflict",
        "the `Idempotency-Key` was used with another request";
    InvalidState, CONFLICT, "invalid_state",
        "the order's state does not allow it; `details.state` says which it is";
    QuoteExpired, CONFLICT, "quote_expired",
        "the quote has expired; refresh it";
    QuoteChanged, CONFLICT, "quote_changed",
        "the quote is not the confirmed one; `details` has the one that stands";
    DepositAlreadyDetected, CONFLICT, "deposit_already_detected",
        "money is on its way to the order already";
    CsvTooLarge, PAYLOAD_TOO_LARGE, "csv_too_large",
        "the file is above 1 MiB, or the body above 2 MiB";
    LimitExceeded, UNPROCESSABLE_ENTITY, "limit_exceeded",
        "rows are worth more than the operator lets anybody pay at once; `details` lists up to 100 of them";
    QuotaExceeded, TOO_MANY_REQUESTS, "quota_exceeded",
        "too many of the merchant's orders are open; retry only after some have ended";
    RateLimited, TOO_MANY_REQUESTS, "rate_limited",
        "more than 60 requests within 60 seconds";
    InternalError, INTERNAL_SERVER_ERROR, "internal_error",
        "our fault; repeat it, with the same `Idempotency-Key`";
    RateProviderDown, SERVICE_UNAVAILABLE, "rate_provider_down",
        "no fresh exchange rate; try again";
    NodeUnavailable, SERVICE_UNAVAILABLE, "node_unavailable",
        "what the network asks for a transaction is not known now; try again";
}

impl Kind {
    /// The refusals of an order that is being created.
    pub const OF_NEW: &[Self] = &[
        Self::InvalidRequest,
        Self::InvalidIdempotencyKey,
        Self::InvalidCsv,
        Self::EmptyBatch,
        Self::TooManyRows,
        Self::InvalidAddress,
        Self::WrongNetworkAddress,
        Self::InvalidAmount,
        Self::AmountBelowDust,
        Self::DuplicateReference,
        Self::UnsupportedNetwork,
        Self::UnsupportedCurrency,
        Self::PayoutsDisabled,
        Self::IdempotencyConflict,
        Self::CsvTooLarge,
        Self::LimitExceeded,
        Self::QuotaExceeded,
        Self::RateProviderDown,
        Self::NodeUnavailable,
    ];
    /// Errors that every operation can answer before it looks at the request, and when it breaks.
    pub const OF_ALL: &[Self] = &[
        Self::ApiKeyMissing,
        Self::ApiKeyMalformed,
        Self::ApiKeyNotFound,
        Self::MerchantSuspended,
        Self::RateLimited,
        Self::InternalError,
    ];

    pub const fn status(self) -> StatusCode {
        self.entry().0
    }

    pub const fn as_str(self) -> &'static str {
        self.entry().1
    }

    /// The meaning of the kind, whatever the request.
    pub const fn meaning(self) -> &'static str {
        self.entry().2
    }
}
