//! Events as their merchant reads them.

use gateway::{
    app::event::{feed::Feed, resend::EventDetail},
    invoice::{payment::iso_8601, schema},
    storage::{
        StorageError,
        deliveries::AttemptRow,
        events::feed::{EventDelivery, EventRow},
    },
};
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// One page of the feed of events, oldest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct EventPage {
    #[schema(max_items = 100)]
    pub data: Vec<Event>,
    /// True if there is more now: ask again with `after` = `next`, also if `data` is empty.
    pub has_more: bool,
    /// Keep it, and send it as `after` for what follows, now or later. Null while there was no
    /// event yet.
    #[schema(required)]
    pub next: Option<String>,
}

/// Something that happened to an invoice or a payout.
#[derive(Debug, Serialize, ToSchema)]
pub struct Event {
    /// The same as in its webhook: act on each id once.
    pub event_id: String,
    /// `invoice.created`, `.partial`, `.paid`, `.expired`, `.cancelled`; `late_deposit_received`,
    /// `wrong_token_received`, `suspicious_token_received`, which change no status; `x402.paid`;
    /// `subscription.started`, `.renewed`, `.past_due`, `.cancelled`, `.ended`,
    /// `.renewal_reminder`; `mass_payout.…` as in the payout webhooks. More may come.
    #[serde(rename = "type")]
    #[schema(value_type = String, examples("invoice.paid"))]
    pub kind: &'static str,
    /// When it happened. The feed is in the order in which events became visible, which may differ.
    #[schema(value_type = schema::Instant)]
    pub created_at: String,
    /// The `payment_id`, or the id of the payout order.
    pub resource_id: String,
    /// The payment object as it was then, with `_gateway.notice` for a deposit that changed
    /// nothing; or the payout order as it was.
    #[schema(value_type = Object)]
    pub payload: Box<RawValue>,
    /// Its webhook; null if it has none: nobody asked for one, or its type has none.
    #[schema(required)]
    pub delivery: Option<Delivery>,
}

/// How the webhook of an event fares.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = EventDelivery)]
pub struct Delivery {
    /// `ipn` or `payout`, which sign differently.
    #[schema(value_type = String)]
    pub channel: &'static str,
    /// Where it is sent.
    pub url: String,
    /// `pending`, `retry_wait`, `delivered`, `dropped` (refused with 4xx; payouts only) or `dead`
    /// (given up until it is sent again).
    #[schema(value_type = String)]
    pub state: &'static str,
    /// 1, and 1 more each time it is sent again.
    #[schema(minimum = 1)]
    pub cycle: i32,
    /// Attempts made in this cycle, of 5.
    #[schema(minimum = 0)]
    pub attempts_made: i16,
    /// When the next attempt is due; null if none is.
    #[schema(value_type = Option<schema::Instant>, required)]
    pub next_attempt_at: Option<String>,
    /// HTTP status of the last attempt; null before the first, and if there was no answer.
    #[schema(required)]
    pub last_status: Option<i16>,
    /// For people: why the last attempt failed.
    #[schema(required)]
    pub last_error: Option<String>,
    /// The newest 100 attempts, oldest first. Only where one event is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, max_items = 100)]
    pub attempts: Option<Vec<Attempt>>,
}

/// One attempt to deliver a webhook.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = EventAttempt)]
pub struct Attempt {
    /// The cycle that it belongs to.
    #[schema(minimum = 1)]
    pub cycle: i32,
    /// From 1 in each cycle.
    #[schema(minimum = 1)]
    pub attempt: i16,
    /// When it began.
    #[schema(value_type = schema::Instant)]
    pub started_at: String,
    /// HTTP status of the answer; null if there was none.
    #[schema(required)]
    pub status: Option<i16>,
    /// Milliseconds until the answer, or until it was given up.
    #[schema(minimum = 0)]
    pub duration_ms: i32,
    /// For people: why it failed; null for one that was taken.
    #[schema(required)]
    pub error: Option<String>,
    /// The first characters of the answer's body. Show it as text only: the receiver wrote it.
    #[schema(required)]
    pub excerpt: Option<String>,
}

impl EventPage {
    pub fn render(feed: Feed) -> Result<Self, StorageError> {
        let data = feed.events.into_iter().map(Event::render).collect::<Result<_, _>>()?;
        Ok(Self { data, has_more: feed.has_more, next: feed.next })
    }
}

impl Event {
    pub fn detail(found: EventDetail) -> Result<Self, StorageError> {
        let mut event = Self::render(found.event)?;
        if let Some(delivery) = &mut event.delivery {
            delivery.attempts = Some(found.attempts.into_iter().map(Attempt::render).collect());
        }
        Ok(event)
    }

    fn render(row: EventRow) -> Result<Self, StorageError> {
        let payload = RawValue::from_string(row.payload)
            .map_err(|error| StorageError::Damaged { table: "event", reason: error.to_string() })?;
        Ok(Self {
            event_id: row.event_id,
            kind: row.kind.as_str(),
            created_at: iso_8601(row.created_at),
            resource_id: row.resource_id,
            payload,
            delivery: row.delivery.map(Delivery::render),
        })
    }
}

impl Delivery {
    fn render(row: EventDelivery) -> Self {
        Self {
            channel: row.channel.as_str(),
            url: row.url,
            state: row.state.as_str(),
            cycle: row.cycle,
            attempts_made: row.attempts,
            next_attempt_at: row.next_attempt_at.map(iso_8601),
            last_status: row.last_status,
            last_error: row.last_error,
            attempts: None,
        }
    }
}

impl Attempt {
    fn render(row: AttemptRow) -> Self {
        Self {
            cycle: row.cycle,
            attempt: row.attempt,
            started_at: iso_8601(row.started_at),
            status: row.status,
            duration_ms: row.duration_ms,
            error: row.error,
            excerpt: row.excerpt,
        }
    }
}
