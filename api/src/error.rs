//! Every error of the API, in the one envelope (spec, "Errors").

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use gateway::{
    app::{invoice::create::CreateError, market::quote::AskError, merchant::admit::NotAdmitted},
    storage::StorageError,
};
use serde::Serialize;
use utoipa::ToSchema;

/// The errors that a client receives. Messages may change; codes may not.
#[derive(Debug)]
pub enum ApiError {
    InvalidRequest(String),
    CurrencyNotSupported,
    AmountBelowMinimum(String),
    ApiKeyMissing,
    ApiKeyMalformed,
    ApiKeyNotFound,
    MerchantSuspended,
    PaymentNotFound,
    EventNotFound,
    LinkNotFound,
    DeviceNotFound,
    SubscriptionNotFound,
    /// No resource of the merchant (x402).
    ResourceNotFound,
    /// A body that is no request of x402.
    X402InvalidPayload,
    /// Programs cannot pay this, or there.
    X402Unsupported,
    UnknownPath,
    MethodNotAllowed,
    /// No report of this month, or none yet.
    ReportNotFound,
    /// An export of more than 366 days.
    RangeTooLarge,
    NoEligibleCurrencies,
    RateLimitExceeded,
    /// The buyer's budget, which is not the merchant's.
    PolledTooOften,
    /// Two exports of the merchant are being made or sent.
    TooManyExports,
    QuotaExceeded,
    RateProviderDown,
    /// The data of an export cannot be read. Logged where it happened.
    ExportHistoryUnavailable,
    /// Logged where it happened; the client learns nothing of it.
    Internal,
}

/// Every error. Frozen.
#[derive(Debug, Serialize, ToSchema)]
pub struct Envelope {
    /// The HTTP status.
    #[serde(rename = "statusCode")]
    pub status_code: u16,
    /// The code to branch on. Treat an unknown code as `INTERNAL_ERROR`.
    #[schema(value_type = String)]
    pub code: &'static str,
    /// For people; may change.
    pub message: String,
}

impl ApiError {
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::InvalidRequest(message.into())
    }

    /// A handler panicked: a bug. The panic itself was logged by its hook.
    pub fn panicked() -> Self {
        tracing::error!("a request handler panicked");
        Self::Internal
    }

    pub fn timed_out() -> Self {
        tracing::error!("a request took longer than its limit");
        Self::Internal
    }

    /// Why a buyer was not admitted; it has no key that could be wrong.
    pub fn of_buyer(error: NotAdmitted) -> Self {
        match error {
            NotAdmitted::TooManyRequests => Self::PolledTooOften,
            NotAdmitted::Storage(error) => error.into(),
            NotAdmitted::UnknownKey | NotAdmitted::Suspended => Self::Internal,
        }
    }

    /// HTTP status and code, as the table of the specification pairs them.
    pub const fn status_and_code(&self) -> (StatusCode, &'static str) {
        match self {
            Self::InvalidRequest(_) => (StatusCode::BAD_REQUEST, "INVALID_REQUEST"),
            Self::CurrencyNotSupported => (StatusCode::BAD_REQUEST, "CURRENCY_NOT_SUPPORTED"),
            Self::AmountBelowMinimum(_) => (StatusCode::BAD_REQUEST, "AMOUNT_BELOW_MINIMUM"),
            Self::RangeTooLarge => (StatusCode::BAD_REQUEST, "RANGE_TOO_LARGE"),
            Self::ApiKeyMissing => (StatusCode::UNAUTHORIZED, "API_KEY_MISSING"),
            Self::ApiKeyMalformed => (StatusCode::UNAUTHORIZED, "API_KEY_MALFORMED"),
            Self::ApiKeyNotFound => (StatusCode::UNAUTHORIZED, "API_KEY_NOT_FOUND"),
            Self::MerchantSuspended => (StatusCode::FORBIDDEN, "MERCHANT_SUSPENDED"),
            Self::PaymentNotFound => (StatusCode::NOT_FOUND, "PAYMENT_NOT_FOUND"),
            Self::EventNotFound => (StatusCode::NOT_FOUND, "EVENT_NOT_FOUND"),
            Self::LinkNotFound => (StatusCode::NOT_FOUND, "LINK_NOT_FOUND"),
            Self::DeviceNotFound => (StatusCode::NOT_FOUND, "DEVICE_NOT_FOUND"),
            Self::ReportNotFound => (StatusCode::NOT_FOUND, "REPORT_NOT_FOUND"),
            Self::SubscriptionNotFound => (StatusCode::NOT_FOUND, "SUBSCRIPTION_NOT_FOUND"),
            Self::ResourceNotFound => (StatusCode::NOT_FOUND, "RESOURCE_NOT_FOUND"),
            Self::X402InvalidPayload => (StatusCode::BAD_REQUEST, "X402_INVALID_PAYLOAD"),
            Self::X402Unsupported => (StatusCode::BAD_REQUEST, "X402_UNSUPPORTED"),
            Self::UnknownPath => (StatusCode::NOT_FOUND, "NOT_FOUND"),
            Self::MethodNotAllowed => (StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED"),
            Self::NoEligibleCurrencies => {
                (StatusCode::UNPROCESSABLE_ENTITY, "NO_ELIGIBLE_CURRENCIES")
            }
            Self::RateLimitExceeded | Self::PolledTooOften | Self::TooManyExports => {
                (StatusCode::TOO_MANY_REQUESTS, "RATE_LIMIT_EXCEEDED")
            }
            Self::QuotaExceeded => (StatusCode::TOO_MANY_REQUESTS, "QUOTA_EXCEEDED"),
            Self::RateProviderDown => (StatusCode::SERVICE_UNAVAILABLE, "RATE_PROVIDER_DOWN"),
            Self::ExportHistoryUnavailable => {
                (StatusCode::SERVICE_UNAVAILABLE, "EXPORT_HISTORY_UNAVAILABLE")
            }
            Self::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL_ERROR"),
        }
    }

    fn message(&self) -> String {
        if let Self::InvalidRequest(message) | Self::AmountBelowMinimum(message) = self {
            return message.clone();
        }
        self.meaning().to_owned()
    }

    /// The meaning of the code, whatever the request.
    pub(crate) const fn meaning(&self) -> &'static str {
        match self {
            Self::InvalidRequest(_) => {
                "the request cannot be read; the message names the first fault"
            }
            Self::AmountBelowMinimum(_) => "the value is below the minimum of this currency",
            Self::CurrencyNotSupported => {
                "the currency is unknown or its network is not enabled; see GET /v1/currencies"
            }
            Self::ApiKeyMissing => "the x-api-key header is missing",
            Self::ApiKeyMalformed => "the x-api-key header is not an API key",
            Self::ApiKeyNotFound => "no merchant has this API key",
            Self::MerchantSuspended => "this merchant is suspended; contact support",
            Self::PaymentNotFound => "no payment has this id or order_id",
            Self::EventNotFound => "no event of the last 90 days has this id",
            Self::LinkNotFound => "no link has this id",
            Self::DeviceNotFound => "no device of this link has this id",
            Self::ReportNotFound => {
                "there is no report of this month: it is not over or not reported yet, or before the merchant"
            }
            Self::SubscriptionNotFound => "no subscription has this id",
            Self::ResourceNotFound => "no resource of yours has this id",
            Self::X402InvalidPayload => {
                "the body must be JSON of x402: x402Version, paymentPayload and paymentRequirements"
            }
            Self::X402Unsupported => {
                "programs cannot pay this by x402; see GET /v1/x402/supported for the networks"
            }
            Self::UnknownPath => "there is nothing at this path",
            Self::MethodNotAllowed => "this path does not take this method",
            Self::NoEligibleCurrencies => "no currency that you accept is eligible for this amount",
            Self::RateLimitExceeded => {
                "more than 60 requests in 60 seconds; retry after 60 seconds"
            }
            Self::PolledTooOften => "more than 60 polls in a minute; retry after 60 seconds",
            Self::RangeTooLarge => "an export spans at most 366 days; ask for a shorter range",
            Self::TooManyExports => {
                "two exports of this merchant are being made or read; retry after 60 seconds"
            }
            Self::ExportHistoryUnavailable => {
                "the records of exports cannot be read now; retry later"
            }
            Self::QuotaExceeded => {
                "too many open invoices; retry after some were paid or have expired"
            }
            Self::RateProviderDown => "no fresh exchange rate is available; retry later",
            Self::Internal => "something failed on our side; retry later",
        }
    }

    pub fn envelope(&self) -> Envelope {
        let (status, code) = self.status_and_code();
        Envelope { status_code: status.as_u16(), code, message: self.message() }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, _) = self.status_and_code();
        let mut response = (status, Json(self.envelope())).into_response();
        let headers = response.headers_mut();
        if matches!(self, Self::RateLimitExceeded | Self::PolledTooOften | Self::TooManyExports) {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("60"));
        }
        if matches!(self, Self::RateLimitExceeded) {
            headers.insert("x-ratelimit-limit", HeaderValue::from_static("60"));
        }
        response
    }
}

impl From<StorageError> for ApiError {
    fn from(error: StorageError) -> Self {
        let source = std::error::Error::source(&error).map(ToString::to_string);
        tracing::error!(%error, source, "the database failed a request");
        Self::Internal
    }
}

impl From<NotAdmitted> for ApiError {
    fn from(error: NotAdmitted) -> Self {
        match error {
            NotAdmitted::UnknownKey => Self::ApiKeyNotFound,
            NotAdmitted::Suspended => Self::MerchantSuspended,
            NotAdmitted::TooManyRequests => Self::RateLimitExceeded,
            NotAdmitted::Storage(error) => error.into(),
        }
    }
}

impl From<AskError> for ApiError {
    fn from(error: AskError) -> Self {
        match error {
            AskError::CurrencyNotSupported => Self::CurrencyNotSupported,
            AskError::NoFreshRate(_) => Self::RateProviderDown,
            AskError::Quote(error) => Self::invalid(format!("amount: {error}")),
            AskError::Storage(error) => error.into(),
        }
    }
}

impl From<CreateError> for ApiError {
    fn from(error: CreateError) -> Self {
        match error {
            CreateError::UnsupportedFiat
            | CreateError::DirectWithoutCurrency
            | CreateError::DirectInOtherCurrency
            | CreateError::DirectAmount(_)
            | CreateError::IdempotencyMismatch => Self::invalid(error.to_string()),
            CreateError::Quote(error) => Self::invalid(format!("price_amount: {error}")),
            CreateError::CurrencyNotSupported => Self::CurrencyNotSupported,
            CreateError::BelowMinimum { .. } => Self::AmountBelowMinimum(error.to_string()),
            CreateError::NoEligibleCurrency => Self::NoEligibleCurrencies,
            CreateError::QuotaExceeded => Self::QuotaExceeded,
            CreateError::Suspended => Self::MerchantSuspended,
            CreateError::NoFreshRate(_) => Self::RateProviderDown,
            CreateError::NoAddress(error) => {
                tracing::error!(%error, "an invoice could not get an address");
                Self::Internal
            }
            CreateError::Storage(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use gateway::{
        app::market::NoFreshRate, invoice::quote::QuoteError, money::AmountError,
        storage::StorageError,
    };

    use super::*;

    /// The table of the specification, "Errors".
    const SPEC: [(u16, &str); 16] = [
        (400, "INVALID_REQUEST"),
        (400, "CURRENCY_NOT_SUPPORTED"),
        (400, "AMOUNT_BELOW_MINIMUM"),
        (400, "RANGE_TOO_LARGE"),
        (401, "API_KEY_MISSING"),
        (401, "API_KEY_MALFORMED"),
        (401, "API_KEY_NOT_FOUND"),
        (403, "MERCHANT_SUSPENDED"),
        (404, "PAYMENT_NOT_FOUND"),
        (404, "REPORT_NOT_FOUND"),
        (422, "NO_ELIGIBLE_CURRENCIES"),
        (429, "RATE_LIMIT_EXCEEDED"),
        (429, "QUOTA_EXCEEDED"),
        (500, "INTERNAL_ERROR"),
        (503, "RATE_PROVIDER_DOWN"),
        (503, "EXPORT_HISTORY_UNAVAILABLE"),
    ];
    /// Ours, for cases without a row in the specification's table.
    const OURS: [(u16, &str); 9] = [
        (400, "X402_INVALID_PAYLOAD"),
        (400, "X402_UNSUPPORTED"),
        (404, "RESOURCE_NOT_FOUND"),
        (404, "NOT_FOUND"),
        (404, "EVENT_NOT_FOUND"),
        (404, "LINK_NOT_FOUND"),
        (404, "DEVICE_NOT_FOUND"),
        (404, "SUBSCRIPTION_NOT_FOUND"),
        (405, "METHOD_NOT_ALLOWED"),
    ];

    fn all() -> Vec<ApiError> {
        use ApiError::*;
        vec![
            InvalidRequest("x".into()),
            CurrencyNotSupported,
            AmountBelowMinimum("x".into()),
            ApiKeyMissing,
            ApiKeyMalformed,
            ApiKeyNotFound,
            MerchantSuspended,
            PaymentNotFound,
            EventNotFound,
            LinkNotFound,
            DeviceNotFound,
            SubscriptionNotFound,
            ResourceNotFound,
            X402InvalidPayload,
            X402Unsupported,
            UnknownPath,
            MethodNotAllowed,
            NoEligibleCurrencies,
            RateLimitExceeded,
            PolledTooOften,
            ReportNotFound,
            RangeTooLarge,
            TooManyExports,
            QuotaExceeded,
            RateProviderDown,
            ExportHistoryUnavailable,
            Internal,
        ]
    }

    #[test]
    fn every_code_has_the_status_of_the_specification_s_table() {
        let pairs: Vec<_> = all()
            .iter()
            .map(|error| {
                let (status, code) = error.status_and_code();
                (status.as_u16(), code)
            })
            .collect();
        for pair in SPEC {
            assert!(pairs.contains(&pair), "{pair:?} is never answered");
        }
        for pair in pairs {
            let known = SPEC.contains(&pair);
            assert!(known || OURS.contains(&pair), "{pair:?} is not in the table");
        }
    }

    #[test]
    fn an_envelope_has_three_fields_and_the_status_of_its_answer() {
        for error in all() {
            let (status, code) = error.status_and_code();
            let json = serde_json::to_value(error.envelope()).unwrap();
            assert_eq!(json.as_object().unwrap().len(), 3, "{code}");
            assert_eq!(json["statusCode"], status.as_u16(), "{code}");
            assert_eq!(json["code"], code);
            assert!(!json["message"].as_str().unwrap().is_empty(), "{code}");
        }
    }

    #[test]
    fn only_the_rate_limits_say_when_to_retry_and_only_the_merchant_s_says_how_much() {
        for error in all() {
            let (_, code) = error.status_and_code();
            let limited = code == "RATE_LIMIT_EXCEEDED";
            let merchants = matches!(error, ApiError::RateLimitExceeded);
            let response = error.into_response();
            let header = |name: &str| response.headers().get(name).map(|v| v.to_str().unwrap());
            assert_eq!(header("retry-after"), limited.then_some("60"), "{code}");
            assert_eq!(header("x-ratelimit-limit"), merchants.then_some("60"), "{code}");
            for never in ["x-ratelimit-remaining", "x-ratelimit-reset"] {
                assert_eq!(header(never), None, "{code}");
            }
        }
    }

    #[test]
    fn every_domain_error_maps_to_its_error_code() {
        let lost = || StorageError::TimedOut;
        let min_usd = rust_decimal::Decimal::TWO;
        let cases: [(ApiError, &str); 21] = [
            (NotAdmitted::UnknownKey.into(), "API_KEY_NOT_FOUND"),
            (NotAdmitted::Suspended.into(), "MERCHANT_SUSPENDED"),
            (NotAdmitted::TooManyRequests.into(), "RATE_LIMIT_EXCEEDED"),
            (NotAdmitted::Storage(lost()).into(), "INTERNAL_ERROR"),
            (AskError::CurrencyNotSupported.into(), "CURRENCY_NOT_SUPPORTED"),
            (AskError::NoFreshRate(NoFreshRate).into(), "RATE_PROVIDER_DOWN"),
            (AskError::Quote(QuoteError::OutOfRange).into(), "INVALID_REQUEST"),
            (AskError::Storage(lost()).into(), "INTERNAL_ERROR"),
            (CreateError::UnsupportedFiat.into(), "INVALID_REQUEST"),
            (CreateError::DirectWithoutCurrency.into(), "INVALID_REQUEST"),
            (CreateError::DirectInOtherCurrency.into(), "INVALID_REQUEST"),
            (CreateError::DirectAmount(AmountError::TooLarge).into(), "INVALID_REQUEST"),
            (CreateError::IdempotencyMismatch.into(), "INVALID_REQUEST"),
            (CreateError::Quote(QuoteError::OutOfRange).into(), "INVALID_REQUEST"),
            (CreateError::CurrencyNotSupported.into(), "CURRENCY_NOT_SUPPORTED"),
            (CreateError::BelowMinimum { min_usd }.into(), "AMOUNT_BELOW_MINIMUM"),
            (CreateError::NoEligibleCurrency.into(), "NO_ELIGIBLE_CURRENCIES"),
            (CreateError::QuotaExceeded.into(), "QUOTA_EXCEEDED"),
            (CreateError::Suspended.into(), "MERCHANT_SUSPENDED"),
            (CreateError::NoFreshRate(NoFreshRate).into(), "RATE_PROVIDER_DOWN"),
            (CreateError::Storage(lost()).into(), "INTERNAL_ERROR"),
        ];
        for (error, code) in cases {
            assert_eq!(error.status_and_code().1, code);
        }
    }
}
