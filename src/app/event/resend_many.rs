//! Sending again many events of a merchant, a bounded number with each call.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::app::{Gateway, delivery::requeue_dead_letters::WORK};
use crate::{
    storage::{
        PgConnection, StorageError, delivery_lists,
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

/// Pages that one call of [`Gateway::resend_all_events`] restarts.
const PAGES_MAX: usize = 50;
/// Counts end here.
pub const PREVIEW_MAX: i64 = 10_001;

impl Gateway {
    /// Number of deliveries that [`resend_events`](Self::resend_events) would start with all its
    /// calls, up to [`PREVIEW_MAX`].
    pub async fn count_resendable(
        &self,
        merchant_id: Uuid,
        wanted: &Wanted,
    ) -> Result<i64, ResendManyError> {
        let mut connection = self.db.connection().await?;
        let selection = selection(&mut connection, merchant_id, wanted).await?;
        if wanted.state.is_some_and(|state| !state.is_ended()) {
            return Ok(0);
        }
        Ok(delivery_lists::count_ended(&mut connection, &selection, PREVIEW_MAX).await?)
    }

    /// Starts a fresh cycle of all deliveries that match, up to a bound. Returns their number, and
    /// the event behind which the next call goes on if there are more.
    pub async fn resend_all_events(
        &self,
        merchant_id: Uuid,
        wanted: &Wanted,
    ) -> Result<(usize, Option<String>), ResendManyError> {
        let (mut wanted, mut started) = (wanted.clone(), 0);
        for _ in 0..PAGES_MAX {
            let done = self.resend_events(merchant_id, &wanted).await?;
            started += done.event_ids.len();
            if !done.has_more {
                return Ok((started, None));
            }
            wanted.after = done.last;
        }
        Ok((started, wanted.after))
    }

    /// Starts a fresh cycle of the next deliveries that match. The answer names the place at which
    /// the next call goes on.
    pub async fn resend_events(
        &self,
        merchant_id: Uuid,
        wanted: &Wanted,
    ) -> Result<Restarted, ResendManyError> {
        let mut connection = self.db.connection().await?;
        let selection = selection(&mut connection, merchant_id, wanted).await?;
        let mut done = resend_many::restart(&mut connection, WORK, &selection).await?;
        if !done.event_ids.is_empty() {
            self.relay_wake.notify_one();
        }
        done.last = done.last.or_else(|| wanted.after.clone());
        Ok(done)
    }
}

async fn selection(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    wanted: &Wanted,
) -> Result<Selection, ResendManyError> {
    if let Some(kind) = wanted.kind.filter(|kind| !kind.has_deliveries()) {
        return Err(ResendManyError::NoWebhook(kind));
    }
    let from = wanted.from.unwrap_or(DateTime::UNIX_EPOCH);
    let mut behind = Place { created_at: from, delivery_id: Uuid::nil() };
    if let Some(id) = &wanted.after {
        let place = resend_many::place_of(connection, merchant_id, id).await?;
        behind = behind.max(place.ok_or(ResendManyError::UnknownEvent)?);
    }
    Ok(Selection {
        merchant_id,
        behind,
        before: wanted.to,
        kind: wanted.kind.map(EventKind::delivery_name),
        state: wanted.state,
    })
}
