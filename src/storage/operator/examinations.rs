//! Results of the doctor that were asked for in the dashboard, one for each subject.

use chrono::{DateTime, Utc};

use crate::storage::{PgConnection, StorageError};

/// The last examination of a network, or of the whole installation.
#[derive(Debug, Clone)]
pub struct Examination {
    pub subject: String,
    pub asked_by: String,
    pub asked_at: DateTime<Utc>,
    pub finished_at: Option<DateTime<Utc>>,
    /// JSON.
    pub findings: Option<String>,
    /// True while its result may still come.
    pub is_running: bool,
}

/// Begins an examination. `None` if one of this subject was begun less than `seconds` ago and has
/// no result yet; otherwise the time that names it.
pub async fn begin(
    connection: &mut PgConnection,
    subject: &str,
    by: &str,
    seconds: i32,
) -> Result<Option<DateTime<Utc>>, StorageError> {
    let begun = sqlx::query_scalar!(
        r#"
        insert into examination as e (subject, asked_by, asked_at)
        values ($1, $2, clock_timestamp())
        on conflict (subject) do update
        set asked_by = excluded.asked_by, asked_at = excluded.asked_at, finished_at = null
        where e.finished_at is not null or e.asked_at < clock_timestamp() - $3::int * interval '1 second'
        returning asked_at
        "#,
        subject,
        by,
        seconds
    )
    .fetch_optional(connection)
    .await?;
    Ok(begun)
}

/// Stores the result of the examination that was begun at `asked_at`, if no other was begun since.
pub async fn finish(
    connection: &mut PgConnection,
    subject: &str,
    asked_at: DateTime<Utc>,
    findings: &str,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        update examination set finished_at = clock_timestamp(), findings = $3
        where subject = $1 and asked_at = $2
        "#,
        subject,
        asked_at,
        findings
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn last(
    connection: &mut PgConnection,
    subject: &str,
    seconds: i32,
) -> Result<Option<Examination>, StorageError> {
    let row = sqlx::query_as!(
        Examination,
        r#"
        select subject, asked_by, asked_at, finished_at, findings,
               finished_at is null and asked_at >= clock_timestamp() - $2::int * interval '1 second' as "is_running!"
        from examination
        where subject = $1
        "#,
        subject,
        seconds
    )
    .fetch_optional(connection)
    .await?;
    Ok(row)
}
