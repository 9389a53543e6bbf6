//! Refusals that the payout APIs share, before each says them in its own words.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use gateway::{asset::address::AddressError, payout::recipients::Reason};
use serde::Serialize;

use crate::error::ApiError;

/// A refusal that does not depend on the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum General {
    KeyMissing,
    KeyMalformed,
    KeyNotFound,
    Suspended,
    TooManyRequests,
    NoRate,
    Unreadable,
    OurFault,
}

impl From<&ApiError> for General {
    fn from(error: &ApiError) -> Self {
        match error {
            ApiError::ApiKeyMissing => Self::KeyMissing,
            ApiError::ApiKeyMalformed => Self::KeyMalformed,
            ApiError::ApiKeyNotFound => Self::KeyNotFound,
            ApiError::MerchantSuspended => Self::Suspended,
            ApiError::RateLimitExceeded | ApiError::PolledTooOften | ApiError::TooManyExports => {
                Self::TooManyRequests
            }
            ApiError::RateProviderDown => Self::NoRate,
            ApiError::InvalidRequest(_)
            | ApiError::AmountBelowMinimum(_)
            | ApiError::CurrencyNotSupported
            | ApiError::PaymentNotFound
            | ApiError::EventNotFound
            | ApiError::LinkNotFound
            | ApiError::DeviceNotFound
            | ApiError::SubscriptionNotFound
            | ApiError::ResourceNotFound
            | ApiError::X402InvalidPayload
            | ApiError::X402Unsupported
            | ApiError::UnknownPath
            | ApiError::MethodNotAllowed
            | ApiError::NoEligibleCurrencies
            | ApiError::ReportNotFound
            | ApiError::RangeTooLarge
            | ApiError::QuotaExceeded => Self::Unreadable,
            ApiError::ExportHistoryUnavailable | ApiError::Internal => Self::OurFault,
        }
    }
}

/// The faults of a recipient.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    OtherNetwork,
    Address,
    Amount,
    Dust,
    DuplicateReference,
    /// Of the row's form.
    Form,
}

impl From<&Reason> for Flaw {
    fn from(reason: &Reason) -> Self {
        match reason {
            Reason::Address(AddressError::OtherNetwork) => Self::OtherNetwork,
            Reason::Address(_) | Reason::OwnAddress | Reason::Burns | Reason::TokenContract(_) => {
                Self::Address
            }
            Reason::Amount(_)
            | Reason::NotPlain
            | Reason::Zero
            | Reason::SumTooLarge
            | Reason::AboveLimit { .. } => Self::Amount,
            Reason::Dust { .. } | Reason::NetTooSmall { .. } => Self::Dust,
            Reason::DuplicateReference(_) => Self::DuplicateReference,
            Reason::Missing
            | Reason::TooLong(_)
            | Reason::Formula
            | Reason::Control
            | Reason::RepeatedRow(_)
            | Reason::DiffersFromOrder
            | Reason::UnknownColumn
            | Reason::RepeatedColumn
            | Reason::Ragged
            | Reason::NotText => Self::Form,
        }
    }
}

/// The answer that carries a refusal. The merchant's budget says when to come again.
pub fn answer(status: StatusCode, envelope: impl Serialize) -> Response {
    let mut response = (status, Json(envelope)).into_response();
    if status == StatusCode::TOO_MANY_REQUESTS {
        let headers = response.headers_mut();
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("60"));
        headers.insert("x-ratelimit-limit", HeaderValue::from_static("60"));
    }
    response
}
