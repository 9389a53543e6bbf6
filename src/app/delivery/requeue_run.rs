//! Dead letters of the dashboard: in groups, and a whole group sent again with its outcome counted.

use uuid::Uuid;

use super::requeue_dead_letters::{DEAD_LETTERS_MAX, WORK};
use crate::app::Gateway;
use crate::storage::{
    StorageError, audit,
    deliveries::DeliveryRow,
    operator::{
        dead_letters::{self, DeadGroup, DeadGroupKey, Grouping},
        requeue_runs::{self, RequeueRun},
    },
};

const GROUPS_MAX: i64 = 200;
/// Dead letters that one transaction queues: a group of thousands never locks the outbox for long.
const BATCH: i64 = 1_000;
const RUNS_SHOWN: i64 = 10;
const FAILED_SHOWN: i64 = 50;

/// A press and the first deliveries that failed again.
pub struct RunStory {
    pub run: RequeueRun,
    pub failed: Vec<DeliveryRow>,
}

impl Gateway {
    /// All dead letters, grouped by cause, receiver and merchant.
    pub async fn dead_letter_groups(&self) -> Result<Vec<DeadGroup>, StorageError> {
        let all = Grouping { by_cause: true, by_receiver: true, by_day: false };
        self.dead_letters_by(all, &DeadGroupKey::default()).await
    }

    /// Dead letters that match `key`, grouped; the largest groups first.
    pub async fn dead_letters_by(
        &self,
        grouping: Grouping,
        key: &DeadGroupKey,
    ) -> Result<Vec<DeadGroup>, StorageError> {
        let mut connection = self.db.connection().await?;
        dead_letters::groups(&mut connection, grouping, key, GROUPS_MAX).await
    }

    /// The size of a group and its first rows.
    pub async fn dead_letters_of(
        &self,
        key: &DeadGroupKey,
        limit: i64,
    ) -> Result<(i64, Vec<DeliveryRow>), StorageError> {
        let mut connection = self.db.connection().await?;
        dead_letters::preview(&mut connection, key, limit).await
    }

    /// Queues one fresh cycle for each dead letter of a group, with the same event ids, the longest
    /// dead first and at most [`DEAD_LETTERS_MAX`], in batches. A form that is sent twice under one
    /// id queues nothing more. Returns their number.
    pub async fn requeue_group(
        &self,
        run_id: Uuid,
        key: &DeadGroupKey,
        (by, subject): (&str, &str),
    ) -> Result<i64, StorageError> {
        let (mut queued, mut after) = (0, None);
        while queued < DEAD_LETTERS_MAX {
            let mut tx = self.db.begin().await?;
            if after.is_none() {
                requeue_runs::forget(&mut tx).await?;
                if !requeue_runs::begin(&mut tx, run_id, (by, subject)).await? {
                    return Ok(0);
                }
            }
            let batch = requeue_runs::queue_batch(&mut tx, run_id, WORK, key, after, BATCH).await?;
            if after.is_none() || batch.queued > 0 {
                let detail = format!("{} of {subject}", batch.queued);
                let id = run_id.to_string();
                audit::note(&mut tx, ("dead-letter", "requeue"), &id, by, &detail).await?;
            }
            tx.commit().await?;
            self.relay_wake.notify_one();
            queued += batch.queued;
            after = batch.last;
            if batch.queued < BATCH || after.is_none() {
                break;
            }
        }
        Ok(queued)
    }

    /// A press with its outcome, and the first deliveries that failed again.
    pub async fn requeue_run(&self, id: Uuid) -> Result<Option<RunStory>, StorageError> {
        let mut connection = self.db.connection().await?;
        let Some(run) = requeue_runs::by_id(&mut connection, id).await? else { return Ok(None) };
        let failed = requeue_runs::failed(&mut connection, id, FAILED_SHOWN).await?;
        Ok(Some(RunStory { run, failed }))
    }

    /// The newest presses with their outcomes.
    pub async fn requeue_runs(&self) -> Result<Vec<RequeueRun>, StorageError> {
        let mut connection = self.db.connection().await?;
        requeue_runs::newest(&mut connection, RUNS_SHOWN).await
    }
}
