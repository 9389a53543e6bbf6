//! What operators did by hand: who, what, to what. Written in the transaction of the act itself.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{PgConnection, StorageError};

#[derive(Debug, Clone)]
pub struct Act {
    pub act: String,
    pub subject: String,
    pub done_by: String,
    pub detail: String,
    pub done_at: DateTime<Utc>,
}

pub async fn note(
    connection: &mut PgConnection,
    act: &str,
    subject: &str,
    by: &str,
    detail: &str,
) -> Result<(), StorageError> {
    sqlx::query!(
        "insert into operator_act (id, act, subject, done_by, detail) values ($1, $2, $3, $4, $5)",
        Uuid::now_v7(),
        act,
        subject,
        by,
        detail
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// What was done to `subject`, oldest first. Index: `operator_act_by_subject`.
pub async fn of_subject(
    connection: &mut PgConnection,
    subject: &str,
) -> Result<Vec<Act>, StorageError> {
    let rows = sqlx::query_as!(
        Act,
        r#"
        select act, subject, done_by, detail, done_at
        from operator_act
        where subject = $1
        order by done_at, id
        limit 100
        "#,
        subject
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}
