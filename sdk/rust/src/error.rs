//! Errors, by kind and by code.

use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An answer that is an error.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// No answer came, in all attempts. What was asked for may have happened: repeat a create with
    /// this key, and it happens once.
    #[error("no answer: {reason}")]
    Connection { reason: String, idempotency_key: Option<String> },
    /// Nothing was sent.
    #[error("{0}")]
    Argument(String),
}

/// An answer that is an error. Branch on `code`; `message` may change.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{code}: {message}")]
pub struct ApiError {
    pub status: u16,
    /// `code` of the payment API and of non-custodial payouts, `kind` of mass payouts.
    pub code: String,
    pub message: String,
    /// More for a program, with some errors of payouts.
    pub details: Option<Box<RawValue>>,
    /// Time to wait before the next request, if the answer says so.
    pub retry_after: Option<Duration>,
}

/// The meaning of an error, whatever its code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// 400, 413, 422: the request can never succeed as it is.
    InvalidRequest,
    /// 401: the API key is missing, malformed or unknown.
    Authentication,
    /// 403: the merchant is suspended.
    Permission,
    /// 404: nothing of this merchant has that id.
    NotFound,
    /// 409: the state does not allow it, or the idempotency key was used for another request.
    Conflict,
    /// 429: more than 60 requests within 60 seconds, and `Retry-After` was above `max_wait`.
    RateLimit,
    /// 429: too many open invoices. Repeating helps only after some have ended.
    Quota,
    /// 5xx, and any answer that is not the gateway's.
    Server,
}

impl ApiError {
    pub fn kind(&self) -> Kind {
        match self.status {
            _ if self.code == "QUOTA_EXCEEDED" => Kind::Quota,
            400 | 413 | 422 => Kind::InvalidRequest,
            401 => Kind::Authentication,
            403 => Kind::Permission,
            404 => Kind::NotFound,
            409 => Kind::Conflict,
            429 => Kind::RateLimit,
            _ => Kind::Server,
        }
    }

    /// The three envelopes of the API, or something else that a proxy answered.
    pub(crate) fn read(status: u16, text: &[u8], retry_after: Option<Duration>) -> Self {
        // In the buyer's status `error` is a text beside the code.
        let inner = serde_json::from_slice::<Wrapped>(text).map(|body| body.error);
        let inner = inner.or_else(|_| serde_json::from_slice::<Problem>(text)).unwrap_or_default();
        Self {
            status,
            code: inner.kind.or(inner.code).unwrap_or_else(|| "INTERNAL_ERROR".to_owned()),
            message: inner.message.unwrap_or_else(|| format!("HTTP {status}")),
            details: inner.details,
            retry_after,
        }
    }
}

#[derive(Deserialize)]
struct Wrapped {
    error: Problem,
}

#[derive(Default, Deserialize)]
struct Problem {
    code: Option<String>,
    kind: Option<String>,
    message: Option<String>,
    details: Option<Box<RawValue>>,
}
