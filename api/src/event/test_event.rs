//! A webhook on trial: `POST /v1/webhooks/test`.

use axum::{Json, body::Body, extract};
use gateway::{
    app::delivery::test_event::{Trial, TrialError},
    invoice::schema,
    webhook::event::EventKind,
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    State,
    auth::Merchant,
    body::{read_members, required},
    error::ApiError,
};

const URL_CHARS_MAX: usize = 2_048;
const TYPE_CHARS_MAX: usize = 64;

/// A test of a receiver. Members that are not listed are ignored.
///
/// It describes the input of [`send`]; nothing is read into it.
#[derive(ToSchema)]
pub struct WebhookTest {
    /// A type of event that has a webhook.
    #[schema(rename = "type", min_length = 1, max_length = 64, examples("invoice.paid"))]
    pub kind: String,
    /// Where the sample is sent. Absent: where the last webhook of this channel went, else the
    /// merchant's payout webhook URL for a payout's.
    #[schema(value_type = Option<schema::OptionalWebAddress>)]
    pub url: Option<String>,
}

/// What the receiver said.
#[derive(Debug, Serialize, ToSchema)]
pub struct WebhookTestResult {
    /// True if it answered 2xx, which takes an event.
    pub ok: bool,
    /// Of the sample. `GET /v1/events` does not list it.
    pub event_id: String,
    /// Where it was sent.
    pub url: String,
    /// HTTP status of the answer; null if there was none.
    #[schema(required)]
    pub status: Option<u16>,
    /// Milliseconds until the answer, or until it was given up.
    pub duration_ms: u64,
    /// For people: why it was not taken; null if it was.
    #[schema(required)]
    pub error: Option<String>,
    /// The first characters of the answer's body.
    #[schema(required)]
    pub excerpt: Option<String>,
}

/// Test a receiver of webhooks
///
/// Sends one sample now, signed with the merchant's own secret, and answers what the receiver said.
/// Its body has `_gateway.test` = true and names no real payment. It is not repeated, and nothing
/// of it is kept.
#[utoipa::path(
    post, path = "/v1/webhooks/test", operation_id = "testWebhook", tag = "Events",
    request_body(content = WebhookTest, example = json!({ "type": "invoice.paid", "url": "https://shop.example/ipn" })),
    responses((status = 200, description = "The sample was sent; `ok` says whether it was taken.", body = WebhookTestResult)),
)]
pub async fn send(
    extract::State(gateway): extract::State<State>,
    Merchant(caller): Merchant,
    body: Body,
) -> Result<Json<WebhookTestResult>, ApiError> {
    let members = read_members(body).await?;
    let kind = required("type", members.string("type", 1..=TYPE_CHARS_MAX)?)?;
    let kind: EventKind =
        kind.parse().map_err(|_| ApiError::invalid("type is no type of event"))?;
    let url = members.string("url", 0..=URL_CHARS_MAX)?.filter(|text| !text.is_empty());
    let trial = gateway.try_webhook(caller.merchant_id, kind, url).await?;
    Ok(Json(WebhookTestResult::render(trial)))
}

impl WebhookTestResult {
    fn render(trial: Trial) -> Self {
        Self {
            ok: trial.is_taken,
            event_id: trial.event_id,
            url: trial.url,
            status: trial.status,
            duration_ms: u64::try_from(trial.took.as_millis()).unwrap_or(u64::MAX),
            error: trial.error,
            excerpt: trial.excerpt,
        }
    }
}

impl From<TrialError> for ApiError {
    fn from(error: TrialError) -> Self {
        match error {
            TrialError::NoWebhook(_) | TrialError::NoUrl | TrialError::Url(_) => {
                Self::invalid(error.to_string())
            }
            TrialError::Unsignable(_) => {
                tracing::error!(%error, "a webhook on trial was not sent");
                Self::Internal
            }
            TrialError::Storage(error) => error.into(),
        }
    }
}
