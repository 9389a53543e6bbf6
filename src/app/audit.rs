//! What operators changed by hand, for operators.

use chrono::{DateTime, Utc};

use super::Gateway;
use crate::storage::{
    StorageError,
    audit::{self, AuditEntry},
};

/// One answer holds no more than this.
pub const AUDIT_ENTRIES_MAX: i64 = 1_000;

impl Gateway {
    /// The newest first; of one subject (a payment's, order's or merchant's id, a currency) or of all.
    pub async fn audit(
        &self,
        subject: Option<&str>,
        since: Option<DateTime<Utc>>,
    ) -> Result<Vec<AuditEntry>, StorageError> {
        let mut connection = self.db.connection().await?;
        audit::entries(&mut connection, subject, since, AUDIT_ENTRIES_MAX).await
    }
}
