//! Stored responses for repeated creations. They are never deleted: a key must not pay twice,
//! however late it is repeated.

use uuid::Uuid;

use crate::{
    payout::PayoutFamily,
    storage::{PgConnection, StorageError},
};

/// Stored response to an earlier request under the same key.
#[derive(Debug, Clone)]
pub struct KeptAnswer {
    pub request_sha256: Vec<u8>,
    pub response: String,
}

pub async fn find(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    family: PayoutFamily,
    key: &str,
) -> Result<Option<KeptAnswer>, StorageError> {
    let row = sqlx::query_as!(
        KeptAnswer,
        r#"
        select request_sha256, response
        from payout_idempotency
        where merchant_id = $1 and family = $2 and key = $3
        "#,
        merchant_id,
        family.as_str(),
        key
    )
    .fetch_optional(connection)
    .await?;
    Ok(row)
}

/// Stores a response. Fails on `payout_idempotency_pkey` if there is one: then the transaction must
/// be rolled back.
pub async fn insert(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    family: PayoutFamily,
    key: &str,
    request_sha256: &[u8],
    order: (Uuid, &str),
) -> Result<(), StorageError> {
    let (order_id, response) = order;
    sqlx::query!(
        r#"
        insert into payout_idempotency (merchant_id, family, key, request_sha256, order_id, response)
        values ($1, $2, $3, $4, $5, $6)
        "#,
        merchant_id,
        family.as_str(),
        key,
        request_sha256,
        order_id,
        response
    )
    .execute(connection)
    .await?;
    Ok(())
}
