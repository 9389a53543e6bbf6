//! Every refusal: `{ "ok": false, "error": { "code", "message", "details"? } }`.

use axum::response::{IntoResponse, Response};
use gateway::{
    app::nc_payout::NcPayoutError,
    invoice::schema,
    nc_payout::{check::Mismatch, psbt},
    payout::recipients::{Reason, RowFault},
};
use serde::Serialize;
use utoipa::ToSchema;

use super::{code::Code, details::Details};
use crate::{
    error::ApiError,
    refusal::{self, Flaw, General},
};

/// An error that a client receives. Messages may change; codes may not.
#[derive(Debug)]
pub struct Problem {
    code: Code,
    message: String,
    details: Option<Details>,
}

/// Every refusal of a non-custodial payout. Frozen.
#[derive(Serialize, ToSchema)]
#[schema(as = NcPayoutProblem)]
pub struct Envelope<'a> {
    #[schema(value_type = schema::False)]
    ok: bool,
    error: Body<'a>,
}

/// The error.
#[derive(Serialize, ToSchema)]
#[schema(as = NcPayoutProblemBody)]
struct Body<'a> {
    /// The code to branch on. Treat an unknown code by its HTTP status.
    #[schema(value_type = String)]
    code: &'static str,
    /// For people; may change.
    #[schema(value_type = String)]
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Details>, nullable = false)]
    details: Option<&'a Details>,
}

impl Problem {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: None }
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidRequest, message)
    }

    fn of(code: Code, error: &NcPayoutError, details: Details) -> Self {
        Self { code, message: error.to_string(), details: Some(details) }
    }

    /// The first output that cannot be paid names the code; all are listed.
    fn of_rows(faults: &[RowFault]) -> Self {
        let (code, message) = match faults.first() {
            Some(fault) => {
                let what =
                    format!("output {}: {} {}", fault.row, fault.column.as_str(), fault.reason);
                (code_of(&fault.reason), what)
            }
            None => (Code::InvalidRequest, "an output cannot be paid".to_owned()),
        };
        Self { code, message, details: Some(Details::of_rows(faults)) }
    }
}

fn code_of(reason: &Reason) -> Code {
    match Flaw::from(reason) {
        Flaw::OtherNetwork | Flaw::Address => Code::InvalidAddress,
        Flaw::Amount => Code::InvalidAmount,
        Flaw::Dust => Code::AmountBelowDust,
        Flaw::DuplicateReference => Code::DuplicateReference,
        Flaw::Form => Code::InvalidRequest,
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let error = Body {
            code: self.code.as_str(),
            message: &self.message,
            details: self.details.as_ref(),
        };
        refusal::answer(self.code.status(), Envelope { ok: false, error })
    }
}

/// Errors that all APIs share keep their meaning in this family's envelope.
impl From<ApiError> for Problem {
    fn from(error: ApiError) -> Self {
        let code = match General::from(&error) {
            General::KeyMissing => Code::ApiKeyMissing,
            General::KeyMalformed => Code::ApiKeyMalformed,
            General::KeyNotFound => Code::ApiKeyNotFound,
            General::Suspended => Code::MerchantSuspended,
            General::TooManyRequests => Code::RateLimitExceeded,
            General::NoRate | General::Unreadable => Code::InvalidRequest,
            General::OurFault => Code::InternalError,
        };
        Self::new(code, error.envelope().message)
    }
}

impl From<NcPayoutError> for Problem {
    fn from(error: NcPayoutError) -> Self {
        let with = |code| Self::new(code, error.to_string());
        match &error {
            NcPayoutError::UnsupportedNetwork => with(Code::UnsupportedNetwork),
            NcPayoutError::UnsupportedCurrency => with(Code::UnsupportedCurrency),
            NcPayoutError::Rows(faults) => Self::of_rows(faults),
            NcPayoutError::FromAddress(_) => with(Code::InvalidAddress),
            NcPayoutError::Refused(outputs) => {
                Self::of(Code::InvalidAddress, &error, Details::of_refusing(outputs))
            }
            NcPayoutError::NotOneKey => with(Code::InvalidAddress),
            NcPayoutError::NoInputs => with(Code::InvalidRequest),
            NcPayoutError::Inputs(inputs) => {
                Self::of(Code::InputUnavailable, &error, Details::of_inputs(inputs))
            }
            NcPayoutError::InputsTooLarge => with(Code::TooManyItems),
            NcPayoutError::TooLarge => with(Code::InvalidAmount),
            NcPayoutError::InsufficientFunds { has, needs } => {
                Self::of(Code::InsufficientFunds, &error, Details::of_lack(*has, *needs))
            }
            NcPayoutError::InsufficientGas { has, needs } => {
                Self::of(Code::InsufficientGas, &error, Details::of_lack(*has, *needs))
            }
            NcPayoutError::FeeTooHigh { .. } => with(Code::NetworkFeeTooHigh),
            NcPayoutError::Suspended => with(Code::MerchantSuspended),
            NcPayoutError::IdempotencyConflict => with(Code::IdempotencyConflict),
            NcPayoutError::NotFound => with(Code::PayoutNotFound),
            NcPayoutError::InvalidState(state) => {
                Self::of(Code::InvalidState, &error, Details::of_state(*state))
            }
            NcPayoutError::Expired => with(Code::PayoutExpired),
            NcPayoutError::NonceUsed(_) => with(Code::NonceUsed),
            NcPayoutError::Mismatch(mismatch) => Self {
                code: Code::SignatureMismatch,
                message: mismatch.to_string(),
                details: differences(mismatch),
            },
            NcPayoutError::PsbtMismatch(mismatch) => Self {
                code: Code::SignatureMismatch,
                message: mismatch.to_string(),
                details: match mismatch {
                    psbt::check::Mismatch::Differs(differences) => {
                        Some(Details::of_fields(differences))
                    }
                    psbt::check::Mismatch::Count(_)
                    | psbt::check::Mismatch::Unreadable
                    | psbt::check::Mismatch::Input { .. } => None,
                },
            },
            NcPayoutError::Rejected(_) => with(Code::BroadcastRejected),
            NcPayoutError::Unbuilt(_) => {
                tracing::error!(%error, "a non-custodial payout could not be built");
                Self::new(Code::InternalError, Code::InternalError.meaning())
            }
            // The reasons of nodes may hold their addresses.
            NcPayoutError::Node(_) | NcPayoutError::Source(_) => {
                tracing::warn!(%error, "a node failed while a payout was built");
                Self::new(Code::NodeUnavailable, Code::NodeUnavailable.meaning())
            }
            NcPayoutError::Storage(storage) => {
                let source = std::error::Error::source(storage).map(ToString::to_string);
                tracing::error!(error = %storage, source, "the database failed a request");
                Self::new(Code::InternalError, Code::InternalError.meaning())
            }
        }
    }
}

fn differences(mismatch: &Mismatch) -> Option<Details> {
    let Mismatch::Differs { differences, .. } = mismatch else { return None };
    Some(Details::of_fields(differences))
}

#[cfg(test)]
mod tests {
    use gateway::{
        asset::{Network, address::AddressError},
        chain::{ChainError, pay::utxo::Unusable},
        nc_payout::State,
        payout::recipients::Column,
        storage::StorageError,
    };

    use super::*;

    #[test]
    fn each_refusal_has_its_code_and_status() {
        let rows = |reason| {
            let fault = RowFault { row: 2, column: Column::Amount, reason, value: "x".into() };
            NcPayoutError::Rows(vec![fault])
        };
        let unreachable = ChainError::Unreachable {
            network: Network::Polygon,
            reason: "http://user:secret@node".into(),
        };
        let gone = ("ab:0".to_owned(), Unusable::Gone);
        let cases: [(NcPayoutError, u16, &str); 25] = [
            (NcPayoutError::FeeTooHigh { asked: 2, most: 1 }, 503, "NETWORK_FEE_TOO_HIGH"),
            (NcPayoutError::NotOneKey, 400, "INVALID_ADDRESS"),
            (NcPayoutError::NoInputs, 400, "INVALID_REQUEST"),
            (NcPayoutError::InputsTooLarge, 400, "TOO_MANY_ITEMS"),
            (NcPayoutError::Inputs(vec![gone]), 422, "INPUT_UNAVAILABLE"),
            (psbt::check::Mismatch::Unreadable.into(), 422, "SIGNATURE_MISMATCH"),
            (NcPayoutError::UnsupportedNetwork, 400, "UNSUPPORTED_NETWORK"),
            (NcPayoutError::UnsupportedCurrency, 400, "UNSUPPORTED_CURRENCY"),
            (rows(Reason::Address(AddressError::Checksum)), 400, "INVALID_ADDRESS"),
            (rows(Reason::Zero), 400, "INVALID_AMOUNT"),
            (rows(Reason::Dust { least: "1".into() }), 400, "AMOUNT_BELOW_DUST"),
            (rows(Reason::DuplicateReference(1)), 400, "DUPLICATE_REFERENCE"),
            (NcPayoutError::Refused(vec![]), 400, "INVALID_ADDRESS"),
            (NcPayoutError::Suspended, 403, "MERCHANT_SUSPENDED"),
            (NcPayoutError::NotFound, 404, "PAYOUT_NOT_FOUND"),
            (NcPayoutError::IdempotencyConflict, 409, "IDEMPOTENCY_CONFLICT"),
            (NcPayoutError::InvalidState(State::Submitted), 409, "INVALID_STATE"),
            (NcPayoutError::Expired, 409, "PAYOUT_EXPIRED"),
            (NcPayoutError::NonceUsed(7), 409, "NONCE_USED"),
            (NcPayoutError::InsufficientFunds { has: 1, needs: 2 }, 422, "INSUFFICIENT_FUNDS"),
            (NcPayoutError::InsufficientGas { has: 1, needs: 2 }, 422, "INSUFFICIENT_GAS"),
            (Mismatch::Count { built: 1, signed: 2 }.into(), 422, "SIGNATURE_MISMATCH"),
            (NcPayoutError::Rejected("no".into()), 422, "BROADCAST_REJECTED"),
            (NcPayoutError::Node(unreachable), 503, "NODE_UNAVAILABLE"),
            (NcPayoutError::Storage(StorageError::TimedOut), 500, "INTERNAL_ERROR"),
        ];
        for (error, status, code) in cases {
            let problem = Problem::from(error);
            assert_eq!((problem.code.status().as_u16(), problem.code.as_str()), (status, code));
            assert!(!problem.message.contains("secret"), "{}", problem.message);
        }
    }
}
