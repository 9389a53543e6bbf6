//! Deliveries in the lists of the dashboard: a merchant's page by page, and dead letters by cause.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::requeue_dead_letters::{DEAD_LETTERS_MAX, WORK};
use crate::app::Gateway;
use crate::storage::{
    StorageError, audit,
    deliveries::DeliveryRow,
    delivery_lists::{self, DeadGroup, DeadGroupKey, LastAttempt, Listed},
};

const GROUPS_MAX: i64 = 200;

/// A page of a merchant's deliveries.
#[derive(Debug)]
pub struct DeliveryPage {
    /// Each with its last attempt.
    pub rows: Vec<(DeliveryRow, Option<LastAttempt>)>,
    pub beyond: Option<(DateTime<Utc>, Uuid)>,
}

impl Gateway {
    /// A merchant's deliveries before a place that match, the newest first.
    ///
    /// One page looks at a bounded number. `beyond` is the place at which the next page goes on
    /// where this one has fewer rows than asked for and there may be more.
    pub async fn deliveries_before(
        &self,
        merchant_id: Uuid,
        listed: Listed,
        before: (DateTime<Utc>, Uuid),
        limit: i64,
    ) -> Result<DeliveryPage, StorageError> {
        let mut connection = self.db.connection().await?;
        let rows = delivery_lists::of_merchant(&mut connection, merchant_id, listed, before, limit)
            .await?;
        let is_short = i64::try_from(rows.len()).unwrap_or(i64::MAX) < limit;
        let beyond = if is_short && (listed.state.is_some() || listed.kind.is_some()) {
            delivery_lists::looked_at(&mut connection, merchant_id, listed, before).await?
        } else {
            None
        };
        let ids: Vec<_> = rows.iter().map(|row| row.id).collect();
        let last = delivery_lists::last_attempts(&mut connection, &ids).await?;
        let mut last: HashMap<_, _> = last.into_iter().map(|of| (of.delivery_id, of)).collect();
        let rows = rows.into_iter().map(|row| (last.remove(&row.id), row));
        Ok(DeliveryPage { rows: rows.map(|(last, row)| (row, last)).collect(), beyond })
    }

    /// Dead letters grouped by merchant, channel, receiver and cause; the largest groups first.
    pub async fn dead_letter_groups(&self) -> Result<Vec<DeadGroup>, StorageError> {
        let mut connection = self.db.connection().await?;
        delivery_lists::dead_groups(&mut connection, GROUPS_MAX).await
    }

    /// Queues one fresh cycle for every dead letter of a group, with the same event ids, and returns
    /// their number.
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
