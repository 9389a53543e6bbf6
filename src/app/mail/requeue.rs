//! Dead mails: listed, and requeued with a fresh cycle of attempts. By operators only.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::QUEUE;
use crate::{
    app::{Gateway, delivery::requeue_dead_letters::DEAD_LETTERS_MAX},
    mail::MailKind,
    storage::{
        StorageError,
        mail::{self, DeadMail},
        operator::dead_mails::{self, DeadMailGroup},
    },
};

/// Groups that a page shows.
const GROUPS_MAX: i64 = 50;

impl Gateway {
    /// Mails that were given up, longest dead first.
    pub async fn dead_mails(
        &self,
        merchant_id: Option<Uuid>,
    ) -> Result<Vec<DeadMail>, StorageError> {
        let mut connection = self.db.connection().await?;
        mail::dead(&mut connection, merchant_id, DEAD_LETTERS_MAX).await
    }

    /// Mails that were given up, by kind and cause; the largest groups first.
    pub async fn dead_mail_groups(&self) -> Result<Vec<DeadMailGroup>, StorageError> {
        let mut connection = self.db.connection().await?;
        dead_mails::groups(&mut connection, GROUPS_MAX).await
    }

    /// Queues a fresh cycle for the mails of a group, and returns their number. Twice starts one.
    pub async fn requeue_mail_group(
        &self,
        kind: MailKind,
        cause: &str,
    ) -> Result<u64, StorageError> {
        let mut connection = self.db.connection().await?;
        let group = (kind, cause);
        let queued = dead_mails::queue(&mut connection, QUEUE.0, group, DEAD_LETTERS_MAX).await?;
        self.relay_wake.notify_one();
        Ok(queued)
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
