//! Deliveries in the lists of the dashboard: a merchant's, page by page.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::app::Gateway;
use crate::{
    storage::{StorageError, deliveries::DeliveryRow, delivery_lists},
    webhook::retry::DeliveryState,
};

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
}
