//! Sending many events again: `POST /v1/events/resend`.

use axum::{Json, body::Body, extract, http::StatusCode};
use chrono::{DateTime, Utc};
use gateway::{
    app::event::resend_many::{ResendManyError, Wanted},
    invoice::schema,
    storage::events::resend_many::Restarted,
    webhook::retry::DeliveryState,
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    State,
    auth::Merchant,
    body::{Members, read_members},
    error::ApiError,
};

const EVENT_ID_CHARS_MAX: usize = 64;
const TYPE_CHARS_MAX: usize = 64;
const STATE_CHARS_MAX: usize = 16;
const INSTANT_CHARS_MAX: usize = 40;

/// The events to send again; `{}` means all that failed. Members that are not listed are ignored.
///
/// It describes the input of [`wanted`]; nothing is read into it.
#[derive(ToSchema)]
pub struct NewEventsResend {
    /// An `event_id`: only what was made after it. To go on, the `next` of the answer before.
    #[schema(max_length = 64)]
    pub after: Option<String>,
    /// Only what was made at this time or later. Begin some minutes before your receiver went down.
    #[schema(value_type = Option<schema::Instant>)]
    pub from: Option<String>,
    /// Only what was made before this time.
    #[schema(value_type = Option<schema::Instant>)]
    pub to: Option<String>,
    /// Only events of this type.
    #[schema(rename = "type", min_length = 1, max_length = 64, examples("invoice.paid"))]
    pub kind: Option<String>,
    /// Only webhooks that ended in this state: `dead`, `dropped`, or `delivered`, which means that
    /// the receiver took them. Absent: those that failed, `dead` and `dropped`.
    #[schema(min_length = 1, max_length = 16, examples("dead"))]
    pub state: Option<String>,
}

/// What was started.
#[derive(Debug, Serialize, ToSchema)]
pub struct EventsResent {
    /// How many webhooks have a fresh cycle of attempts under way.
    pub resent: usize,
    /// Their events, oldest first.
    #[schema(max_items = 100)]
    pub event_ids: Vec<String>,
    /// True if there is more: ask again with `after` = `next`, also if `resent` is 0.
    pub has_more: bool,
    /// The last event that this call looked at. Null if there was none.
    #[schema(required)]
    pub next: Option<String>,
}

/// Send the webhooks of many events again
///
/// After your receiver was down: one fresh cycle of up to 5 attempts each, with the same
/// `event_id`s. One call looks at up to 100 webhooks, in the order in which they were made; go on
/// with `after` = `next` while `has_more` is true. Webhooks under way are left as they are, so
/// calling it twice, or twice at once, sends nothing twice.
#[utoipa::path(
    post, path = "/v1/events/resend", operation_id = "resendEvents", tag = "Events",
    request_body(content = NewEventsResend, example = json!({ "from": "2026-11-21T20:00:00.000Z" })),
    responses((status = 202, description = "What was started.", body = EventsResent)),
)]
pub async fn send(
    extract::State(gateway): extract::State<State>,
    Merchant(caller): Merchant,
    body: Body,
) -> Result<(StatusCode, Json<EventsResent>), ApiError> {
    let wanted = wanted(&read_members(body).await?)?;
    let done = gateway.resend_events(caller.merchant_id, &wanted).await?;
    Ok((StatusCode::ACCEPTED, Json(EventsResent::render(done))))
}

fn wanted(members: &Members) -> Result<Wanted, ApiError> {
    let kind = match members.string("type", 1..=TYPE_CHARS_MAX)? {
        None => None,
        Some(text) => {
            Some(text.parse().map_err(|_| ApiError::invalid("type is no type of event"))?)
        }
    };
    let state = match members
        .string("state", 1..=STATE_CHARS_MAX)?
        .map(|text| text.parse::<DeliveryState>())
    {
        None => None,
        Some(Ok(
            state @ (DeliveryState::Dead | DeliveryState::Dropped | DeliveryState::Delivered),
        )) => Some(state),
        Some(_) => return Err(ApiError::invalid("state must be dead, dropped or delivered")),
    };
    Ok(Wanted {
        after: members.string("after", 1..=EVENT_ID_CHARS_MAX)?,
        from: instant(members, "from")?,
        to: instant(members, "to")?,
        kind,
        state,
    })
}

fn instant(members: &Members, name: &str) -> Result<Option<DateTime<Utc>>, ApiError> {
    let Some(text) = members.string(name, 1..=INSTANT_CHARS_MAX)? else { return Ok(None) };
    let instant = DateTime::parse_from_rfc3339(&text).map_err(|_| {
        ApiError::invalid(format!("{name} must be a time such as 2026-01-31T12:00:00Z"))
    })?;
    Ok(Some(instant.to_utc()))
}

impl EventsResent {
    fn render(done: Restarted) -> Self {
        Self {
            resent: done.event_ids.len(),
            event_ids: done.event_ids,
            has_more: done.has_more,
            next: done.last,
        }
    }
}

impl From<ResendManyError> for ApiError {
    fn from(error: ResendManyError) -> Self {
        match error {
            ResendManyError::UnknownEvent | ResendManyError::NoWebhook(_) => {
                Self::invalid(error.to_string())
            }
            ResendManyError::Storage(error) => error.into(),
        }
    }
}
