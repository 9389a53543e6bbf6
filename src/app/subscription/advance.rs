//! Letting days of a subscription pass in the sandbox.

use uuid::Uuid;

use crate::app::Gateway;
use crate::storage::{
    self, StorageError,
    subscriptions::{self, Subscription},
};

/// Days that a subscription may be advanced in all: longer than any test needs, and far from the
/// end of the calendar.
pub const DAYS_MAX: u32 = 3_660;

impl Gateway {
    /// Moves a subscription's clock on. Its reminders that are due by then follow a moment later.
    /// `None` if there is no such subscription, or this is no sandbox.
    pub async fn advance_subscription(
        &self,
        merchant_id: Uuid,
        subscription_id: &str,
        days: u32,
    ) -> Result<Option<Subscription>, StorageError> {
        if !self.config.is_sandbox() {
            return Ok(None);
        }
        let mut tx = self.db.begin().await?;
        let found = subscriptions::lock_of_merchant(&mut tx, merchant_id, subscription_id).await?;
        let Some(mut found) = found else { return Ok(None) };
        let advanced = found.clock.advanced_days.saturating_add(days).min(DAYS_MAX);
        found.clock.advanced_days = advanced;
        found.updated_at = storage::now(&mut tx).await?;
        subscriptions::save(&mut tx, &[&found]).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(Some(found))
    }
}
