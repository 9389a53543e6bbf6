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

/// The newest entries of one subject, without those that only mention it. Index:
/// `audit_entry_by_subject`.
pub async fn of_subject(
    connection: &mut PgConnection,
    subject: &str,
    limit: i64,
) -> Result<Vec<AuditEntry>, StorageError> {
    let rows = sqlx::query_as!(
        AuditEntry,
        r#"
        select at, operator, subject_kind, act, subject, change, address
        from audit_entry
        where subject = $1
        order by id desc
        limit $2
        "#,
        subject,
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

/// Makes all words of this act about `subject` wait for one another until the transaction ends: of
/// two that are said at once, the second one is heard as the second.
pub async fn lock(
    connection: &mut PgConnection,
    (subject_kind, act): (&str, &str),
    subject: &str,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"select pg_advisory_xact_lock(hashtextextended('gateway:said:' || $1::text, 0))::text as "lock""#,
        format!("{subject_kind} {act} {subject}")
    )
    .fetch_one(connection)
    .await?;
    Ok(())
}

/// The same as [`was_said_by_another`] among the dashboard's operators, for words that count for a
/// day: whether another account that may decide now, and was not let in by another one after
/// `since`, has said the same of `subject`.
pub async fn was_said_by_another_account(
    connection: &mut PgConnection,
    (subject_kind, act): (&str, &str),
    subject: &str,
    (email, detail): (&str, &str),
    since: Option<DateTime<Utc>>,
) -> Result<bool, StorageError> {
    let found = sqlx::query_scalar!(
        r#"
        select exists (
            select from audit_entry e
            join account a on a.email = e.operator and a.disabled_at is null
            join membership m on m.account_id = a.id and m.merchant_id is null and m.accepted_at is not null
            where e.subject = $1 and e.subject_kind = $2 and e.act = $3 and e.operator <> $4
              and e.change ->> 'detail' = $5 and e.at > now() - interval '1 day'
              and m.role in ('operator-admin', 'operator-finance')
              and (m.invited_by is null or m.accepted_at <= $6)
        ) as "found!"
        "#,
        subject,
        subject_kind,
        act,
        email,
        detail,
        since
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
