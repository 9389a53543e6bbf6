//! What may be forgotten, in bounded bites. Money, events and deposits are not in this file.

use super::{PgConnection, StorageError};

/// Deletes up to `limit` rows of each kind whose time has passed. Returns how many went.
pub async fn forget(connection: &mut PgConnection, limit: i64) -> Result<u64, StorageError> {
    let windows = sqlx::query!(
        r#"
        delete from request_window
        where key in (
            select key from request_window where last_at < now() - interval '5 minutes' limit $1 for update skip locked
        )
        "#,
        limit
    )
    .execute(&mut *connection)
    .await?;
    let answers = sqlx::query!(
        r#"
        delete from idempotency
        where (merchant_id, key) in (
            select merchant_id, key
            from idempotency
            where created_at < now() - interval '24 hours'
            order by created_at
            limit $1
            for update skip locked
        )
        "#,
        limit
    )
    .execute(connection)
    .await?;
    Ok(windows.rows_affected() + answers.rows_affected())
}
