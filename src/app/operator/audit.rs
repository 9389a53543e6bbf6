//! The operators' audit log: manual changes.

use chrono::{DateTime, Utc};

use crate::app::Gateway;
use crate::storage::{
    StorageError,
    audit::{self, AuditEntry},
    operator::audit_search::{self, AuditFilter, PlacedEntry},
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

    /// The newest entries of one subject, without those that only mention it.
    pub async fn audit_of(
        &self,
        subject: &str,
        limit: i64,
    ) -> Result<Vec<AuditEntry>, StorageError> {
        audit::of_subject(&mut *self.db.connection().await?, subject, limit).await
    }

    /// Audit entries before a place, the newest first, by any of the criteria.
    pub async fn audit_page(
        &self,
        filter: &AuditFilter,
        before: Option<i64>,
        limit: i64,
    ) -> Result<Vec<PlacedEntry>, StorageError> {
        let mut connection = self.db.connection().await?;
        let before = before.unwrap_or(i64::MAX);
        audit_search::page(&mut connection, filter, before, limit).await
    }
}
