//! Deliveries in the lists of the dashboard: a merchant's, page by page.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::app::Gateway;
use crate::storage::{
    StorageError,
    deliveries::DeliveryRow,
    delivery_lists::{self, LastAttempt, Listed},
};

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
        let rows = delivery_lists::with_last_attempts(&mut connection, rows).await?;
        Ok(DeliveryPage { rows, beyond })
    }
}
