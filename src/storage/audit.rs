//! The audit of changes made by hand. The database itself writes an entry in the transaction of
//! each change that an operator's connection makes; commands add their purpose.

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::{PgConnection, StorageError};

/// One change.
#[derive(Debug, Clone)]
pub struct AuditEntry {
    pub at: DateTime<Utc>,
    pub operator: String,
    /// A table, or the kind of thing that a command is about.
    pub subject_kind: String,
    /// `insert`, `update` or `delete` of a row, or a command.
    pub act: String,
    /// The name of the row for people: a payment's or an order's id, a merchant's id, a currency.
    pub subject: String,
    /// The columns that changed; values only where they are harmless.
    pub change: Value,
    /// The address that its author came from; only the dashboard knows one.
    pub address: Option<String>,
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
        select at, operator, subject_kind, act, subject, change, address
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

/// The subjects whose security somebody is told about.
pub struct SecuritySubjects<'a> {
    /// His own address: sign-ins too.
    pub email: &'a str,
    /// Merchants, or the operators, whose keys, settings and teams he answers for.
    pub teams: &'a [String],
    /// The people of these.
    pub people: &'a [String],
}

/// The newest entries that touch security.
pub async fn of_security(
    connection: &mut PgConnection,
    subjects: &SecuritySubjects<'_>,
    limit: i64,
) -> Result<Vec<AuditEntry>, StorageError> {
    let rows = sqlx::query_as!(
        AuditEntry,
        r#"
        select at, operator, subject_kind, act, subject, change, address
        from audit_entry
        where (subject = $1 and subject_kind in ('security', 'session'))
              or (subject = any($2) and subject_kind in ('team', 'merchant'))
              or (subject = any($3) and subject_kind = 'security')
        order by id desc
        limit $4
        "#,
        subjects.email,
        subjects.teams,
        subjects.people,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Records a command's effect on `subject`, in words; written in the transaction of the act itself.
pub async fn note(
    connection: &mut PgConnection,
    (subject_kind, act): (&str, &str),
    subject: &str,
    operator: &str,
    detail: &str,
) -> Result<(), StorageError> {
    sqlx::query!(
        "insert into audit_entry (operator, subject_kind, act, subject, change)
         values ($1, $2, $3, $4, jsonb_build_object('detail', $5::text))",
        operator,
        subject_kind,
        act,
        subject,
        detail
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Returns whether another operator has said the same of `subject`, in the very words.
pub async fn was_said_by_another(
    connection: &mut PgConnection,
    (subject_kind, act): (&str, &str),
    subject: &str,
    (operator, detail): (&str, &str),
) -> Result<bool, StorageError> {
    let found = sqlx::query_scalar!(
        r#"
        select exists (
            select from audit_entry
            where subject = $1 and subject_kind = $2 and act = $3 and operator <> $4 and change ->> 'detail' = $5
        ) as "found!"
        "#,
        subject,
        subject_kind,
        act,
        operator,
        detail
    )
    .fetch_one(connection)
    .await?;
    Ok(found)
}

/// The operator who was the first to do this to `subject`.
pub async fn first_to(
    connection: &mut PgConnection,
    (subject_kind, act): (&str, &str),
    subject: &str,
) -> Result<Option<String>, StorageError> {
    let found = sqlx::query_scalar!(
        "select operator from audit_entry where subject = $1 and subject_kind = $2 and act = $3 order by id limit 1",
        subject,
        subject_kind,
        act
    )
    .fetch_optional(connection)
    .await?;
    Ok(found)
}
