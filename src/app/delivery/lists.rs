//! Deliveries in the lists of the dashboard: a merchant's page by page, and dead letters by cause.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::requeue_dead_letters::{DEAD_LETTERS_MAX, WORK};
use crate::app::Gateway;
use crate::{
    storage::{
        StorageError, audit,
        deliveries::DeliveryRow,
        delivery_lists::{self, DeadGroup, DeadGroupKey},
    },
    webhook::retry::DeliveryState,
};

const GROUPS_MAX: i64 = 200;

impl Gateway {
    /// A merchant's deliveries before a place, the newest first.
    pub async fn deliveries_before(
        &self,
        merchant_id: Uuid,
        state: Option<DeliveryState>,
        before: (DateTime<Utc>, Uuid),
        limit: i64,
    ) -> Result<Vec<DeliveryRow>, StorageError> {
        let mut connection = self.db.connection().await?;
        delivery_lists::of_merchant(&mut connection, merchant_id, state, before, limit).await
    }

    /// Dead letters grouped by merchant, channel, receiver and cause; the largest groups first.
    pub async fn dead_letter_groups(&self) -> Result<Vec<DeadGroup>, StorageError> {
        let mut connection = self.db.connection().await?;
        delivery_lists::dead_groups(&mut connection, GROUPS_MAX).await
    }

    /// Queues one fresh cycle for every dead letter of a group, with the same event ids, and
    /// returns their number.
    pub async fn requeue_group(&self, group: &DeadGroupKey, by: &str) -> Result<u64, StorageError> {
        let mut tx = self.db.begin().await?;
        let queued = delivery_lists::queue_group(&mut tx, WORK, group, DEAD_LETTERS_MAX).await?;
        let detail = format!("{queued} to {}: {}", group.host, group.cause);
        let merchant = group.merchant_id.to_string();
        audit::note(&mut tx, ("dead-letter", "requeue"), &merchant, by, &detail).await?;
        tx.commit().await?;
        self.relay_wake.notify_one();
        Ok(queued)
    }
}
