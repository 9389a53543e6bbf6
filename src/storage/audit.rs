//! Who changed what by hand. The rows are written by the database itself, in the transaction of each change that an operator's
//! connection makes.

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::{PgConnection, StorageError};

/// One change.
#[derive(Debug, Clone)]
pub struct AuditEntry {
    pub at: DateTime<Utc>,
    pub operator: String,
    /// A table.
    pub subject_kind: String,
    /// `insert`, `update` or `delete`.
    pub act: String,
    /// What people call the row: a payment's or an order's id, a merchant's id, a currency.
    pub subject: String,
    /// The columns that changed; values only where they are harmless.
    pub change: Value,
}

/// The newest first; of all subjects, or those whose row or harmless values hold `subject`.
pub async fn entries(
    connection: &mut PgConnection,
    subject: Option<&str>,
    since: Option<DateTime<Utc>>,
    limit: i64,
) -> Result<Vec<AuditEntry>, StorageError> {
    let rows = sqlx::query_as!(
        AuditEntry,
        r#"
        select at, operator, subject_kind, act, subject, change
        from audit_entry
        where ($1::text is null or subject = $1 or position($1 in change::text) > 0)
              and ($2::timestamptz is null or at >= $2)
        order by id desc
        limit $3
        "#,
        subject,
        since,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}
