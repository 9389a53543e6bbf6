//! Stored responses for repeated requests.

use uuid::Uuid;

use super::{PgConnection, StorageError};

/// Stored response to an earlier request under the same key.
#[derive(Debug, Clone)]
pub struct StoredAnswer {
    pub request_sha256: Vec<u8>,
    pub response: String,
}

/// The response stored in the last 24 hours, if any. Index: `idempotency_pkey`.
pub async fn find(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    key: &str,
) -> Result<Option<StoredAnswer>, StorageError> {
    let row = sqlx::query_as!(
        StoredAnswer,
        r#"
        select request_sha256, response
        from idempotency
        where merchant_id = $1 and key = $2 and created_at > now() - interval '24 hours'
        "#,
        merchant_id,
        key
    )
    .fetch_optional(connection)
    .await?;
    Ok(row)
}

/// Stores a response. `false` if a live one exists already: the caller lost a race and must replay
/// that one.
pub async fn insert(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    key: &str,
    request_sha256: &[u8],
    response: &str,
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        r#"
        insert into idempotency as i (merchant_id, key, request_sha256, response)
        values ($1, $2, $3, $4)
        on conflict (merchant_id, key) do update
        set request_sha256 = excluded.request_sha256, response = excluded.response, created_at = now()
        where i.created_at <= now() - interval '24 hours'
        "#,
        merchant_id,
        key,
        request_sha256,
        response
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}
