//! The operators' audit log: manual changes.

use chrono::{DateTime, Utc};

use crate::app::Gateway;
use crate::storage::{
    StorageError,
    audit::{self, AuditEntry},
};

/// Maximum number of entries in one response.
pub const AUDIT_ENTRIES_MAX: i64 = 1_000;

impl Gateway {
    /// Audit entries, newest first: of one subject (the id of a payment, order or merchant, or a
    /// currency), or of all.
    pub async fn audit(
        &self,
        subject: Option<&str>,
        since: Option<DateTime<Utc>>,
    ) -> Result<Vec<AuditEntry>, StorageError> {
        let mut connection = self.db.connection().await?;
        audit::entries(&mut connection, subject, since, AUDIT_ENTRIES_MAX).await
    }
}
