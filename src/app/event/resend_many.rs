//! Sending again many events of a merchant, a bounded number with each call.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::app::{Gateway, delivery::requeue_dead_letters::WORK};
use crate::{
    storage::{
        StorageError,
        events::resend_many::{self, Place, Restarted, Selection},
    },
    webhook::{event::EventKind, retry::DeliveryState},
};

/// What a merchant wants to get again. Nothing given: all that failed.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// An event; what was made after it.
    pub after: Option<String>,
    /// What was made then or later.
    pub from: Option<DateTime<Utc>>,
    /// What was made before.
    pub to: Option<DateTime<Utc>>,
    pub kind: Option<EventKind>,
    /// The state in which the delivery ended.
    pub state: Option<DeliveryState>,
}

#[derive(Debug, thiserror::Error)]
pub enum ResendManyError {
    #[error("after: you have no event with this id")]
    UnknownEvent,
    #[error("type: {} has no webhook; only GET /v1/events tells it", .0.as_str())]
    NoWebhook(EventKind),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Gateway {
    /// Starts a fresh cycle of the next deliveries that match. The answer names the place at which
    /// the next call goes on.
    pub async fn resend_events(
        &self,
        merchant_id: Uuid,
        wanted: &Wanted,
    ) -> Result<Restarted, ResendManyError> {
        if let Some(kind) = wanted.kind.filter(|kind| kind.channel().is_none()) {
            return Err(ResendManyError::NoWebhook(kind));
        }
        let mut connection = self.db.connection().await?;
        let from = wanted.from.unwrap_or(DateTime::UNIX_EPOCH);
        let mut behind = Place { created_at: from, delivery_id: Uuid::nil() };
        if let Some(id) = &wanted.after {
            let place = resend_many::place_of(&mut connection, merchant_id, id).await?;
            behind = behind.max(place.ok_or(ResendManyError::UnknownEvent)?);
        }
        let selection = Selection {
            merchant_id,
            behind,
            before: wanted.to,
            kind: wanted.kind.map(EventKind::delivery_name),
            state: wanted.state,
        };
        let mut done = resend_many::restart(&mut connection, WORK, &selection).await?;
        if !done.event_ids.is_empty() {
            self.relay_wake.notify_one();
        }
        done.last = done.last.or_else(|| wanted.after.clone());
        Ok(done)
    }
}
