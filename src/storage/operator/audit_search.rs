//! The audit log page by page, filtered by author, kind, time and merchant.

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::storage::{PgConnection, StorageError, audit::AuditEntry};

/// The criteria of a search; empty ones match everything.
#[derive(Debug, Clone, Default)]
pub struct AuditFilter {
    /// The row's name, or a part of its harmless values.
    pub subject: Option<String>,
    /// The exact name of the author.
    pub by: Option<String>,
    /// The kind of row, or of thing.
    pub kind: Option<String>,
    pub act: Option<String>,
    pub since: Option<DateTime<Utc>>,
    pub until: Option<DateTime<Utc>>,
}

/// An entry with its place in the log.
#[derive(Debug, Clone)]
pub struct PlacedEntry {
    pub id: i64,
    pub entry: AuditEntry,
}

/// Entries before the place `before`, the newest first. Indices: `audit_entry_pkey`,
/// `audit_entry_by_operator`.
pub async fn page(
    connection: &mut PgConnection,
    filter: &AuditFilter,
    before: i64,
    limit: i64,
) -> Result<Vec<PlacedEntry>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select id, at, operator, subject_kind, act, subject, change as "change: Value", address
        from audit_entry
        where id < $1
          and ($2::text is null or subject = $2 or position($2 in change::text) > 0)
          and ($3::text is null or operator = $3)
          and ($4::text is null or subject_kind = $4)
          and ($5::text is null or act = $5)
          and ($6::timestamptz is null or at >= $6)
          and ($7::timestamptz is null or at < $7)
        order by id desc
        limit $8
        "#,
        before,
        filter.subject,
        filter.by,
        filter.kind,
        filter.act,
        filter.since,
        filter.until,
        limit
    )
    .fetch_all(connection)
    .await?;
    let placed = rows.into_iter().map(|row| PlacedEntry {
        id: row.id,
        entry: AuditEntry {
            at: row.at,
            operator: row.operator,
            subject_kind: row.subject_kind,
            act: row.act,
            subject: row.subject,
            change: row.change,
            address: row.address,
        },
    });
    Ok(placed.collect())
}
