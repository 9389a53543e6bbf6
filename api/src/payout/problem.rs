//! Every refusal of the payout API: `{ "ok": false, "error": { "kind", "message", "details"? } }`.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use gateway::{
    app::payouts::PayoutError,
    asset::address::AddressError,
    payout::{
        csv::Unreadable,
        quote::QuoteFault,
        recipients::{Reason, RowFault},
    },
};
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::ApiError;

/// What a client is told. Messages may change; kinds may not.
#[derive(Debug)]
pub struct Problem {
    status: StatusCode,
    kind: &'static str,
    message: String,
    details: Option<Value>,
    /// The merchant's rate limit, which says when to come again.
    limited: bool,
}

#[derive(Serialize)]
struct Envelope<'a> {
    ok: bool,
    error: Body<'a>,
}

#[derive(Serialize)]
struct Body<'a> {
    kind: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a Value>,
}

impl Problem {
    pub fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        Self { status, kind, message: message.into(), details: None, limited: false }
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", message)
    }

    /// Rows of a file, told all together under one kind.
    pub fn of_file(faults: &[RowFault]) -> Self {
        let message = format!("{} of the file cannot be paid; see details", cells(faults.len()));
        let problem = Self::new(StatusCode::BAD_REQUEST, "invalid_csv", message);
        Self { details: Some(told(faults)), ..problem }
    }

    /// Rows of a JSON body: the first one names the kind.
    pub fn of_rows(faults: &[RowFault]) -> Self {
        let (kind, first) = match faults.first() {
            Some(fault) => {
                let what = format!("row {}: {} {}", fault.row, fault.column.as_str(), fault.reason);
                (kind_of(&fault.reason), what)
            }
            None => ("invalid_request", "a row cannot be paid".to_owned()),
        };
        let problem = Self::new(StatusCode::BAD_REQUEST, kind, first);
        Self { details: Some(told(faults)), ..problem }
    }

    /// The same refusal, of rows that came in a file.
    #[must_use]
    pub fn from_payout(error: PayoutError, from_file: bool) -> Self {
        if let (PayoutError::Rows(faults), true) = (&error, from_file) {
            return Self::of_file(faults);
        }
        Self::from(error)
    }
}

fn cells(count: usize) -> String {
    if count == 1 { "1 cell".to_owned() } else { format!("{count} cells") }
}

fn told(faults: &[RowFault]) -> Value {
    let one = |fault: &RowFault| {
        json!({
            "row": fault.row,
            "column": fault.column.as_str(),
            "reason": fault.reason.to_string(),
            "value": fault.value,
        })
    };
    faults.iter().map(one).collect()
}

const fn kind_of(reason: &Reason) -> &'static str {
    match reason {
        Reason::Address(AddressError::OtherNetwork) => "wrong_network_address",
        Reason::Address(_) | Reason::OwnAddress => "invalid_address",
        Reason::Amount(_) | Reason::NotPlain | Reason::Zero | Reason::SumTooLarge => {
            "invalid_amount"
        }
        Reason::Dust { .. } | Reason::NetTooSmall { .. } => "amount_below_dust",
        Reason::DuplicateReference(_) => "duplicate_reference",
        Reason::Missing
        | Reason::TooLong(_)
        | Reason::Formula
        | Reason::Control
        | Reason::RepeatedRow(_)
        | Reason::DiffersFromOrder
        | Reason::UnknownColumn
        | Reason::RepeatedColumn
        | Reason::Ragged
        | Reason::NotText => "invalid_request",
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let error =
            Body { kind: self.kind, message: &self.message, details: self.details.as_ref() };
        let mut response = (self.status, Json(Envelope { ok: false, error })).into_response();
        if self.limited {
            let headers = response.headers_mut();
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("60"));
            headers.insert("x-ratelimit-limit", HeaderValue::from_static("60"));
        }
        response
    }
}

/// What both APIs refuse alike keeps its meaning under this family's names.
impl From<ApiError> for Problem {
    fn from(error: ApiError) -> Self {
        let limited = matches!(error, ApiError::RateLimitExceeded);
        let kind = match &error {
            ApiError::ApiKeyMissing => "api_key_missing",
            ApiError::ApiKeyMalformed => "api_key_malformed",
            ApiError::ApiKeyNotFound => "api_key_not_found",
            ApiError::MerchantSuspended => "merchant_suspended",
            ApiError::RateLimitExceeded | ApiError::PolledTooOften => "rate_limited",
            ApiError::RateProviderDown => "rate_provider_down",
            ApiError::InvalidRequest(_)
            | ApiError::AmountBelowMinimum(_)
            | ApiError::CurrencyNotSupported
            | ApiError::PaymentNotFound
            | ApiError::UnknownPath
            | ApiError::MethodNotAllowed
            | ApiError::NoEligibleCurrencies
            | ApiError::QuotaExceeded => "invalid_request",
            ApiError::Internal => "internal_error",
        };
        let envelope = error.envelope();
        let status = StatusCode::from_u16(envelope.status_code);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { limited, ..Self::new(status, kind, envelope.message) }
    }
}

impl From<Unreadable> for Problem {
    fn from(error: Unreadable) -> Self {
        let message = error.to_string();
        match error {
            Unreadable::TooLarge => {
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, "csv_too_large", message)
            }
            Unreadable::TooManyRows(_) => {
                Self::new(StatusCode::BAD_REQUEST, "too_many_rows", message)
            }
            Unreadable::Empty => Self::new(StatusCode::BAD_REQUEST, "empty_batch", message),
            Unreadable::Faults(faults) => Self::of_file(&faults),
        }
    }
}

impl From<PayoutError> for Problem {
    fn from(error: PayoutError) -> Self {
        let message = error.to_string();
        let with = |status, kind| Self::new(status, kind, message.clone());
        match error {
            PayoutError::Disabled => with(StatusCode::FORBIDDEN, "payouts_disabled"),
            PayoutError::Suspended => with(StatusCode::FORBIDDEN, "merchant_suspended"),
            PayoutError::UnsupportedNetwork => with(StatusCode::BAD_REQUEST, "unsupported_network"),
            PayoutError::UnsupportedCurrency => {
                with(StatusCode::BAD_REQUEST, "unsupported_currency")
            }
            PayoutError::Rows(faults) => Self::of_rows(&faults),
            PayoutError::RefundAddress(AddressError::OtherNetwork) => {
                with(StatusCode::BAD_REQUEST, "wrong_network_address")
            }
            PayoutError::RefundAddress(_) | PayoutError::OwnRefundAddress => {
                with(StatusCode::BAD_REQUEST, "invalid_address")
            }
            PayoutError::Quote(QuoteFault::NoPayouts) => {
                with(StatusCode::BAD_REQUEST, "unsupported_network")
            }
            PayoutError::Quote(_) => with(StatusCode::BAD_REQUEST, "invalid_amount"),
            PayoutError::IdempotencyConflict => with(StatusCode::CONFLICT, "idempotency_conflict"),
            PayoutError::NotFound => with(StatusCode::NOT_FOUND, "order_not_found"),
            PayoutError::InvalidState(state) => {
                let problem = with(StatusCode::CONFLICT, "invalid_state");
                Self { details: Some(json!({ "state": state.as_str() })), ..problem }
            }
            PayoutError::QuoteExpired => with(StatusCode::CONFLICT, "quote_expired"),
            PayoutError::QuoteChanged { quote_id, total } => {
                let problem = with(StatusCode::CONFLICT, "quote_changed");
                let details = json!({ "quoteId": quote_id, "totalToSendRaw": total });
                Self { details: Some(details), ..problem }
            }
            PayoutError::DepositDetected => with(StatusCode::CONFLICT, "deposit_already_detected"),
            PayoutError::NoFreshRate(_) => {
                with(StatusCode::SERVICE_UNAVAILABLE, "rate_provider_down")
            }
            PayoutError::NoAddress(error) => {
                tracing::error!(%error, "a payout order could not get an address");
                Self::new(
                    StatusCode::BAD_REQUEST,
                    "unsupported_network",
                    "no address can be given on this network",
                )
            }
            PayoutError::Storage(error) => ApiError::from(error).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use gateway::{
        money::AmountError,
        payout::{State, recipients::Column},
        storage::StorageError,
    };

    use super::*;

    fn fault(reason: Reason) -> RowFault {
        RowFault { row: 3, column: Column::Amount, reason, value: "x".into() }
    }

    #[test]
    fn each_refusal_has_its_kind_and_status() {
        let rows = |reason| PayoutError::Rows(vec![fault(reason)]);
        let cases: [(PayoutError, u16, &str); 17] = [
            (PayoutError::Disabled, 403, "payouts_disabled"),
            (PayoutError::UnsupportedNetwork, 400, "unsupported_network"),
            (PayoutError::UnsupportedCurrency, 400, "unsupported_currency"),
            (rows(Reason::Zero), 400, "invalid_amount"),
            (rows(Reason::Amount(AmountError::TooLarge)), 400, "invalid_amount"),
            (rows(Reason::Dust { least: "1".into() }), 400, "amount_below_dust"),
            (rows(Reason::Address(AddressError::Checksum)), 400, "invalid_address"),
            (rows(Reason::Address(AddressError::OtherNetwork)), 400, "wrong_network_address"),
            (rows(Reason::DuplicateReference(1)), 400, "duplicate_reference"),
            (PayoutError::Suspended, 403, "merchant_suspended"),
            (PayoutError::IdempotencyConflict, 409, "idempotency_conflict"),
            (PayoutError::NotFound, 404, "order_not_found"),
            (PayoutError::InvalidState(State::Expired), 409, "invalid_state"),
            (PayoutError::QuoteExpired, 409, "quote_expired"),
            (
                PayoutError::QuoteChanged { quote_id: "q".into(), total: "1".into() },
                409,
                "quote_changed",
            ),
            (PayoutError::DepositDetected, 409, "deposit_already_detected"),
            (PayoutError::Storage(StorageError::TimedOut), 500, "internal_error"),
        ];
        for (error, status, kind) in cases {
            let problem = Problem::from(error);
            assert_eq!((problem.status.as_u16(), problem.kind), (status, kind));
        }
    }

    #[test]
    fn a_file_has_one_kind_for_all_its_cells() {
        let problem = Problem::from_payout(PayoutError::Rows(vec![fault(Reason::Zero)]), true);
        assert_eq!(problem.kind, "invalid_csv");
        let details = problem.details.unwrap();
        assert_eq!(details[0]["row"], 3);
        assert_eq!(details[0]["column"], "amount");
        assert_eq!(details[0]["reason"], "must be more than zero");
    }
}
