//! Dead letters: listed, and requeued with a fresh cycle of attempts. By operators only.
//!
//! The rows are the dead letters; the broker's queue holds copies for its own UI. Requeuing one
//! twice is harmless: both messages name the same next cycle, and the second one is stale.

use uuid::Uuid;

use crate::app::Gateway;
use crate::{
    broker::route::Route,
    storage::{
        StorageError,
        deliveries::{self, ChannelRoutes, DeadFilter, DeliveryRow},
    },
    webhook::Channel,
};

/// Maximum number of dead letters in one response; the rest follows once these are gone.
pub const DEAD_LETTERS_MAX: i64 = 10_000;

/// Work queue of each channel.
pub const WORK: ChannelRoutes<'static> = ChannelRoutes {
    ipn: Route::Ipn.as_str(),
    payout: Route::PayoutWebhook.as_str(),
    tell_why: false,
};

impl Gateway {
    /// Deliveries that were given up, longest dead first.
    pub async fn list_dead_letters(
        &self,
        merchant_id: Option<Uuid>,
        channel: Option<Channel>,
    ) -> Result<Vec<DeliveryRow>, StorageError> {
        let mut connection = self.db.connection().await?;
        deliveries::dead(&mut connection, merchant_id, channel, DEAD_LETTERS_MAX).await
    }

    /// Queues a fresh cycle for every matching dead letter and returns their event ids.
    pub async fn requeue_dead_letters(
        &self,
        filter: &DeadFilter,
    ) -> Result<Vec<String>, StorageError> {
        let mut connection = self.db.connection().await?;
        let ids = deliveries::queue_dead(&mut connection, WORK, filter, DEAD_LETTERS_MAX).await?;
        self.relay_wake.notify_one();
        Ok(ids)
    }
}
