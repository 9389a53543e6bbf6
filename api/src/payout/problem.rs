//! Every refusal of the payout API: `{ "ok": false, "error": { "kind", "message", "details"? } }`.

use axum::response::{IntoResponse, Response};
use gateway::{
    app::payout::PayoutError,
    asset::address::AddressError,
    invoice::schema as values,
    payout::{
        State as OrderState,
        csv::Unreadable,
        quote::QuoteFault,
        recipients::{Reason, RowFault},
        schema,
    },
};
use serde::Serialize;
use utoipa::ToSchema;

use super::kind::Kind;
use crate::{
    error::ApiError,
    refusal::{self, Flaw, General},
};

/// An error that a client receives. Messages may change; kinds may not.
#[derive(Debug)]
pub struct Problem {
    kind: Kind,
    message: String,
    details: Option<Details>,
}

/// Every refusal of a payout operation. Frozen.
#[derive(Serialize, ToSchema)]
#[schema(as = PayoutProblem)]
pub struct Envelope<'a> {
    #[schema(value_type = values::False)]
    ok: bool,
    error: Body<'a>,
}

/// The error.
#[derive(Serialize, ToSchema)]
#[schema(as = PayoutProblemBody)]
struct Body<'a> {
    /// The kind to branch on. Treat an unknown kind by its HTTP status.
    #[schema(value_type = String)]
    kind: &'static str,
    /// For people; may change.
    #[schema(value_type = String)]
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Details>, nullable = false)]
    details: Option<&'a Details>,
}

/// Details for programs: the rows that cannot be paid, at most 100 of them; the order's state with
/// `invalid_state`; the present quote with `quote_changed`.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = PayoutProblemDetails)]
pub enum Details {
    Rows(Vec<Fault>),
    State(Standing),
    Quote(Quoted),
}

/// One cell that cannot be used.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = PayoutRowFault)]
pub struct Fault {
    /// In a CSV file the line number as a spreadsheet shows it, in JSON the position in `items`,
    /// from 1.
    row: u32,
    /// The column by its name, or `row` for the row as a whole.
    column: String,
    /// For people.
    reason: String,
    /// The beginning of the cell.
    value: String,
}

/// The present state of an order.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = PayoutStanding)]
pub struct Standing {
    #[schema(value_type = schema::OrderState)]
    state: &'static str,
}

/// The quote of an order as it is now.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PayoutQuoted)]
pub struct Quoted {
    /// The id to confirm this quote with.
    quote_id: String,
    /// The amount that would have to be sent.
    #[schema(value_type = schema::RawAmount)]
    total_to_send_raw: String,
}

impl Problem {
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), details: None }
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Kind::InvalidRequest, message)
    }

    fn with(self, details: Details) -> Self {
        Self { details: Some(details), ..self }
    }

    /// Rows of a file, all reported together under one kind.
    pub fn of_file(faults: &[RowFault]) -> Self {
        let message = format!("{} of the file cannot be paid; see details", cells(faults.len()));
        Self::new(Kind::InvalidCsv, message).with(details_of(faults))
    }

    /// Rows of a JSON body: the first one names the kind.
    pub fn of_rows(faults: &[RowFault]) -> Self {
        let (kind, first) = match faults.first() {
            Some(fault) => {
                let what = format!("row {}: {} {}", fault.row, fault.column.as_str(), fault.reason);
                (kind_of(&fault.reason), what)
            }
            None => (Kind::InvalidRequest, "a row cannot be paid".to_owned()),
        };
        Self::new(kind, first).with(details_of(faults))
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

fn details_of(faults: &[RowFault]) -> Details {
    let one = |fault: &RowFault| Fault {
        row: fault.row,
        column: fault.column.as_str().to_owned(),
        reason: fault.reason.to_string(),
        value: fault.value.clone(),
    };
    Details::Rows(faults.iter().map(one).collect())
}

fn kind_of(reason: &Reason) -> Kind {
    match Flaw::from(reason) {
        Flaw::OtherNetwork => Kind::WrongNetworkAddress,
        Flaw::Address => Kind::InvalidAddress,
        Flaw::Amount => Kind::InvalidAmount,
        Flaw::Dust => Kind::AmountBelowDust,
        Flaw::DuplicateReference => Kind::DuplicateReference,
        Flaw::Form => Kind::InvalidRequest,
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let error = Body {
            kind: self.kind.as_str(),
            message: &self.message,
            details: self.details.as_ref(),
        };
        refusal::answer(self.kind.status(), Envelope { ok: false, error })
    }
}

/// Errors that both APIs share keep their meaning under this family's names.
impl From<ApiError> for Problem {
    fn from(error: ApiError) -> Self {
        let kind = match General::from(&error) {
            General::KeyMissing => Kind::ApiKeyMissing,
            General::KeyMalformed => Kind::ApiKeyMalformed,
            General::KeyNotFound => Kind::ApiKeyNotFound,
            General::Suspended => Kind::MerchantSuspended,
            General::TooManyRequests => Kind::RateLimited,
            General::NoRate => Kind::RateProviderDown,
            General::Unreadable => Kind::InvalidRequest,
            General::OurFault => Kind::InternalError,
        };
        Self::new(kind, error.envelope().message)
    }
}

impl From<Unreadable> for Problem {
    fn from(error: Unreadable) -> Self {
        let message = error.to_string();
        match error {
            Unreadable::TooLarge => Self::new(Kind::CsvTooLarge, message),
            Unreadable::TooManyRows(_) => Self::new(Kind::TooManyRows, message),
            Unreadable::Empty => Self::new(Kind::EmptyBatch, message),
            Unreadable::Faults(faults) => Self::of_file(&faults),
        }
    }
}

impl From<PayoutError> for Problem {
    fn from(error: PayoutError) -> Self {
        let message = error.to_string();
        let of = |kind| Self::new(kind, message.clone());
        match error {
            PayoutError::Disabled => of(Kind::PayoutsDisabled),
            PayoutError::Suspended => of(Kind::MerchantSuspended),
            PayoutError::UnsupportedNetwork | PayoutError::Quote(QuoteFault::NoPayouts) => {
                of(Kind::UnsupportedNetwork)
            }
            PayoutError::UnsupportedCurrency => of(Kind::UnsupportedCurrency),
            PayoutError::Rows(faults) => Self::of_rows(&faults),
            PayoutError::AboveLimit(faults) => of(Kind::LimitExceeded).with(details_of(&faults)),
            PayoutError::TooManyOpen(_) => of(Kind::QuotaExceeded),
            PayoutError::RefundAddress(AddressError::OtherNetwork) => of(Kind::WrongNetworkAddress),
            PayoutError::RefundAddress(_) | PayoutError::OwnRefundAddress => {
                of(Kind::InvalidAddress)
            }
            PayoutError::Quote(_) => of(Kind::InvalidAmount),
            PayoutError::IdempotencyConflict => of(Kind::IdempotencyConflict),
            PayoutError::NotFound => of(Kind::OrderNotFound),
            PayoutError::InvalidState(state) => of(Kind::InvalidState).with(standing(state)),
            PayoutError::QuoteExpired => of(Kind::QuoteExpired),
            PayoutError::QuoteChanged { quote_id, total } => {
                let quoted = Quoted { quote_id, total_to_send_raw: total };
                of(Kind::QuoteChanged).with(Details::Quote(quoted))
            }
            PayoutError::DepositDetected => of(Kind::DepositAlreadyDetected),
            PayoutError::NoFreshRate(_) => of(Kind::RateProviderDown),
            PayoutError::NoFreshFee => of(Kind::NodeUnavailable),
            PayoutError::NoAddress(error) => {
                tracing::error!(%error, "a payout order could not get an address");
                Self::new(Kind::UnsupportedNetwork, "no address can be given on this network")
            }
            // The idempotency key of a repeated request tells the two apart.
            PayoutError::Storage(error) | PayoutError::Unclear(error) => {
                ApiError::from(error).into()
            }
        }
    }
}

const fn standing(state: OrderState) -> Details {
    Details::State(Standing { state: state.as_str() })
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
        let cases: [(PayoutError, u16, &str); 21] = [
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
            (PayoutError::AboveLimit(vec![]), 422, "limit_exceeded"),
            (PayoutError::TooManyOpen(100), 429, "quota_exceeded"),
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
            (PayoutError::NoFreshFee, 503, "node_unavailable"),
            (PayoutError::Storage(StorageError::TimedOut), 500, "internal_error"),
            (PayoutError::Unclear(StorageError::TimedOut), 500, "internal_error"),
        ];
        for (error, status, kind) in cases {
            let problem = Problem::from(error);
            assert_eq!((problem.kind.status().as_u16(), problem.kind.as_str()), (status, kind));
        }
    }

    #[test]
    fn a_file_has_one_kind_for_all_its_cells() {
        let problem = Problem::from_payout(PayoutError::Rows(vec![fault(Reason::Zero)]), true);
        assert_eq!(problem.kind, Kind::InvalidCsv);
        let details = serde_json::to_value(problem.details).unwrap();
        assert_eq!(details[0]["row"], 3);
        assert_eq!(details[0]["column"], "amount");
        assert_eq!(details[0]["reason"], "must be more than zero");
    }
}
