//! Dead mails: listed, and requeued with a fresh cycle of attempts. By operators only.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::QUEUE;
use crate::{
    app::{Gateway, delivery::requeue_dead_letters::DEAD_LETTERS_MAX},
    storage::{
        StorageError,
        mail::{self, DeadMail},
    },
};

impl Gateway {
    /// Mails that were given up, longest dead first.
    pub async fn dead_mails(
        &self,
        merchant_id: Option<Uuid>,
    ) -> Result<Vec<DeadMail>, StorageError> {
        let mut connection = self.db.connection().await?;
        mail::dead(&mut connection, merchant_id, DEAD_LETTERS_MAX).await
    }

    /// Queues a fresh cycle for every matching dead mail and returns their ids. Twice starts one.
    pub async fn requeue_dead_mails(
        &self,
        merchant_id: Option<Uuid>,
        since: Option<DateTime<Utc>>,
    ) -> Result<Vec<Uuid>, StorageError> {
        let mut connection = self.db.connection().await?;
        let (route, limit) = (QUEUE.0, DEAD_LETTERS_MAX);
        let ids = mail::queue_dead(&mut connection, route, (merchant_id, since), limit).await?;
        self.relay_wake.notify_one();
        Ok(ids)
    }
}
