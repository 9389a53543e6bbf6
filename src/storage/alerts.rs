//! Alerts that need an operator. Raised once per subject, so that a loop cannot flood them.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{PgConnection, StorageError};

/// `true` if this subject had no such alert before.
pub async fn raise(
    connection: &mut PgConnection,
    kind: &str,
    subject: &str,
    detail: &str,
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        r#"
        insert into operator_alert (id, kind, subject, detail)
        values ($1, $2, $3, $4)
        on conflict (kind, subject) do nothing
        "#,
        Uuid::now_v7(),
        kind,
        subject,
        detail
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Withdraws an alert that an operator has resolved, so that it is raised again if the problem
/// recurs.
pub async fn withdraw(
    connection: &mut PgConnection,
    kind: &str,
    subject: &str,
) -> Result<(), StorageError> {
    sqlx::query!("delete from operator_alert where kind = $1 and subject = $2", kind, subject)
        .execute(connection)
        .await?;
    Ok(())
}

pub async fn count(connection: &mut PgConnection) -> Result<i64, StorageError> {
    let row = sqlx::query!(r#"select count(*) as "count!" from operator_alert"#)
        .fetch_one(connection)
        .await?;
    Ok(row.count)
}

#[derive(Debug, Clone)]
pub struct AlertRow {
    pub kind: String,
    pub subject: String,
    pub detail: String,
    pub created_at: DateTime<Utc>,
}

/// The newest alerts, at most `limit`.
pub async fn latest(
    connection: &mut PgConnection,
    limit: i64,
) -> Result<Vec<AlertRow>, StorageError> {
    let rows = sqlx::query_as!(
        AlertRow,
        r#"
        select kind, subject, detail, created_at
        from operator_alert
        order by created_at desc, id desc
        limit $1
        "#,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}
