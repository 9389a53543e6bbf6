//! Faults of ours that a person must look at: rows that cannot be decoded, and panics.

use crate::app::Gateway;
use crate::{
    broker::envelope,
    storage::{StorageError, alerts},
};

const ROW_DAMAGED: &str = "row_damaged";
const PANICKED: &str = "panicked";
/// The longest part of a panic's message that is kept; it may repeat text that a stranger wrote.
const REASON_CHARS_MAX: usize = 300;

impl Gateway {
    /// Reports the row that a message of `queue` is about. `false` if it was reported before: then
    /// a dead letter of it lies there already, and further copies, which timers and the sweep go on
    /// to send, need not follow it.
    pub async fn set_aside(
        &self,
        queue: &str,
        body: &[u8],
        damage: &StorageError,
    ) -> Result<bool, StorageError> {
        let id = envelope::id_of(body).unwrap_or_else(|| "unknown".to_owned());
        let subject = format!("{queue}/{id}");
        let mut connection = self.db.connection().await?;
        let first =
            alerts::raise(&mut connection, ROW_DAMAGED, &subject, &damage.to_string()).await;
        if matches!(first, Ok(true)) {
            tracing::error!(queue, id, %damage, "a damaged row is set aside");
        }
        first
    }

    /// Tells of a panic that did not end its process.
    pub async fn tell_panic(&self, part: &str, reason: &str) -> Result<(), StorageError> {
        let visible = reason.chars().filter(|c| !c.is_control());
        let reason: String = visible.take(REASON_CHARS_MAX).collect();
        let mut connection = self.db.connection().await?;
        alerts::raise(&mut connection, PANICKED, part, &reason).await?;
        Ok(())
    }
}
