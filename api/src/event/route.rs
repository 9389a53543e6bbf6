//! The feed of events, one event, and sending it again.

use axum::{
    Json,
    extract::{self, Path, rejection::PathRejection},
    http::StatusCode,
};
use gateway::{
    app::event::{feed::FeedError, resend::ResendError},
    invoice::schema,
};

use crate::{
    State,
    auth::Merchant,
    error::ApiError,
    event::wire::{Event, EventPage},
    query::Parameters,
};

/// Longer than any id that was ever given.
const EVENT_ID_CHARS_MAX: usize = 64;

/// List events
///
/// Everything that happened to the merchant's invoices and payouts in the last 90 days, oldest
/// first, also what has no webhook. Keep `next` and send it as `after`: nothing is skipped and
/// nothing comes twice, whatever was written meanwhile.
#[utoipa::path(
    get, path = "/v1/events", operation_id = "listEvents", tag = "Events",
    params(
        ("after" = Option<String>, Query, max_length = 64, description =
            "An `event_id`: the page begins behind it. Absent: at the oldest event that is kept. An id that the feed does not \
             have, or no longer after 90 days, is `INVALID_REQUEST`: begin again without it and leave out the ids that you have."),
        ("type" = Option<String>, Query, description = "Only events of this type."),
        ("limit" = Option<schema::WholeNumber>, Query, description = "Events per page: 10 if absent, moved into 1 to 100."),
    ),
    responses((status = 200, description = "One page.", body = EventPage)),
)]
pub async fn list(
    extract::State(gateway): extract::State<State>,
    Merchant(caller): Merchant,
    parameters: Parameters,
) -> Result<Json<EventPage>, ApiError> {
    let limit = parameters.clamped("limit", 10, 1..=100)?;
    let kind = match parameters.text("type")? {
        None => None,
        Some(text) => {
            Some(text.parse().map_err(|_| ApiError::invalid("type is no type of event"))?)
        }
    };
    let after = parameters.text("after")?;
    let feed = gateway.read_feed(caller.merchant_id, after, kind, limit).await?;
    Ok(Json(EventPage::render(feed)?))
}

/// Read an event
///
/// With every attempt to deliver its webhook.
#[utoipa::path(
    get, path = "/v1/events/{id}", operation_id = "readEvent", tag = "Events",
    params(("id" = String, Path, max_length = 64, description = "The `event_id`.")),
    responses((status = 200, description = "The event.", body = Event)),
)]
pub async fn read(
    extract::State(gateway): extract::State<State>,
    Merchant(caller): Merchant,
    id: Result<Path<String>, PathRejection>,
) -> Result<Json<Event>, ApiError> {
    let found = gateway.find_event(caller.merchant_id, &event_id(id)?).await?;
    Ok(Json(Event::detail(found.ok_or(ApiError::EventNotFound)?)?))
}

/// Send an event's webhook again
///
/// Starts one fresh cycle of up to 5 attempts with the same `event_id`, however the last one ended.
/// While attempts are under way it changes nothing.
#[utoipa::path(
    post, path = "/v1/events/{id}/resend", operation_id = "resendEvent", tag = "Events",
    params(("id" = String, Path, max_length = 64, description = "The `event_id`.")),
    responses((status = 202, description = "The event, with a cycle under way.", body = Event)),
)]
pub async fn resend(
    extract::State(gateway): extract::State<State>,
    Merchant(caller): Merchant,
    id: Result<Path<String>, PathRejection>,
) -> Result<(StatusCode, Json<Event>), ApiError> {
    let sent = gateway.resend_event(caller.merchant_id, &event_id(id)?).await?;
    Ok((StatusCode::ACCEPTED, Json(Event::detail(sent)?)))
}

/// A text that can be no id names no event.
fn event_id(path: Result<Path<String>, PathRejection>) -> Result<String, ApiError> {
    let Path(id) = path.map_err(|_| ApiError::EventNotFound)?;
    if id.contains('\0') || id.chars().count() > EVENT_ID_CHARS_MAX {
        return Err(ApiError::EventNotFound);
    }
    Ok(id)
}

impl From<FeedError> for ApiError {
    fn from(error: FeedError) -> Self {
        match error {
            FeedError::UnknownEvent => Self::invalid(
                "after: the feed has no event of yours with this id; it keeps 90 days: begin again without after, and leave \
                 out the event ids that you have",
            ),
            FeedError::Storage(error) => error.into(),
        }
    }
}

impl From<ResendError> for ApiError {
    fn from(error: ResendError) -> Self {
        match error {
            ResendError::NotFound => Self::EventNotFound,
            ResendError::NoWebhook => Self::invalid(error.to_string()),
            ResendError::Storage(error) => error.into(),
        }
    }
}
