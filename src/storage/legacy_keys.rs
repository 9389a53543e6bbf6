//! Keys of merchants for the `/legacy` adapter.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{PgConnection, StorageError};

/// A merchant's private key as it is stored.
#[derive(Clone)]
pub struct SealedKey {
    pub merchant_id: Uuid,
    pub sealed: Vec<u8>,
}

/// The public part of a merchant's keys.
#[derive(Debug, Clone)]
pub struct PublicPart {
    pub public_key: String,
    pub created_at: DateTime<Utc>,
}

/// Stores a merchant's keys; the ones before are unknown from the next request on. `false` if there
/// is no such merchant.
pub async fn replace(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    public_key: &str,
    sealed: &[u8],
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        r#"
        insert into legacy_key (merchant_id, public_key, private_key_sealed)
        select id, $2, $3 from merchant where id = $1
        on conflict (merchant_id) do update
        set public_key = excluded.public_key, private_key_sealed = excluded.private_key_sealed, created_at = now()
        "#,
        merchant_id,
        public_key,
        sealed
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Removes a merchant's keys; `false` if it has none.
pub async fn remove(
    connection: &mut PgConnection,
    merchant_id: Uuid,
) -> Result<bool, StorageError> {
    let done = sqlx::query!("delete from legacy_key where merchant_id = $1", merchant_id);
    Ok(done.execute(connection).await?.rows_affected() == 1)
}

/// The key of a request. Index: `legacy_key_public_key_unique`.
pub async fn by_public_key(
    connection: &mut PgConnection,
    public_key: &str,
) -> Result<Option<SealedKey>, StorageError> {
    let row = sqlx::query_as!(
        SealedKey,
        "select merchant_id, private_key_sealed as sealed from legacy_key where public_key = $1",
        public_key
    )
    .fetch_optional(connection)
    .await?;
    Ok(row)
}

/// A merchant's public key; `None` if it has no keys.
pub async fn of_merchant(
    connection: &mut PgConnection,
    merchant_id: Uuid,
) -> Result<Option<PublicPart>, StorageError> {
    let row = sqlx::query_as!(
        PublicPart,
        "select public_key, created_at from legacy_key where merchant_id = $1",
        merchant_id
    )
    .fetch_optional(connection)
    .await?;
    Ok(row)
}

/// The keys after `after`, in the order of their merchants' ids. Index: `legacy_key_pkey`.
pub async fn after(
    connection: &mut PgConnection,
    after: Uuid,
    limit: i64,
) -> Result<Vec<SealedKey>, StorageError> {
    let rows = sqlx::query_as!(
        SealedKey,
        r#"
        select merchant_id, private_key_sealed as sealed
        from legacy_key
        where merchant_id > $1
        order by merchant_id
        limit $2
        "#,
        after,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Replaces a key that is still as it was read; one that its merchant was given anew meanwhile
/// stays.
pub async fn reseal(
    connection: &mut PgConnection,
    before: &SealedKey,
    after: &[u8],
) -> Result<(), StorageError> {
    sqlx::query!(
        "update legacy_key set private_key_sealed = $3 where merchant_id = $1 and private_key_sealed = $2",
        before.merchant_id,
        before.sealed,
        after
    )
    .execute(connection)
    .await?;
    Ok(())
}
