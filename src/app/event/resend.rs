//! One event with every attempt to deliver it, and sending it again at its merchant's wish.

use uuid::Uuid;

use crate::app::{Gateway, delivery::requeue_dead_letters::WORK};
use crate::storage::{
    StorageError,
    deliveries::AttemptRow,
    events::{
        feed::{self, EventRow},
        resend,
    },
};

/// An event and the newest attempts to deliver it, in order.
#[derive(Debug)]
pub struct EventDetail {
    pub event: EventRow,
    pub attempts: Vec<AttemptRow>,
}

#[derive(Debug, thiserror::Error)]
pub enum ResendError {
    #[error("no such event")]
    NotFound,
    #[error(
        "this event has no webhook to send again: it had no callback URL, or is told by GET /v1/events alone"
    )]
    NoWebhook,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Gateway {
    /// One event of a merchant.
    pub async fn find_event(
        &self,
        merchant_id: Uuid,
        event_id: &str,
    ) -> Result<Option<EventDetail>, StorageError> {
        let mut connection = self.db.connection().await?;
        let found = feed::one(&mut connection, merchant_id, event_id).await?;
        let Some(event) = found else { return Ok(None) };
        let attempts = match &event.delivery {
            Some(delivery) => resend::newest_attempts(&mut connection, delivery.id).await?,
            None => Vec::new(),
        };
        Ok(Some(EventDetail { event, attempts }))
    }

    /// Starts a fresh cycle of an event's delivery, unless one is under way, and returns the event
    /// as it is then.
    pub async fn resend_event(
        &self,
        merchant_id: Uuid,
        event_id: &str,
    ) -> Result<EventDetail, ResendError> {
        let mut connection = self.db.connection().await?;
        let event = feed::one(&mut connection, merchant_id, event_id).await?;
        let event = event.ok_or(ResendError::NotFound)?;
        let delivery = event.delivery.ok_or(ResendError::NoWebhook)?;
        if resend::restart(&mut connection, WORK, delivery.id).await? {
            self.relay_wake.notify_one();
        }
        drop(connection);
        self.find_event(merchant_id, event_id).await?.ok_or(ResendError::NotFound)
    }
}
