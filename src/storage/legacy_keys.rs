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

/// The key of a request.
#[derive(Clone)]
pub struct RequestKey {
    pub merchant_id: Uuid,
    pub sealed: Vec<u8>,
    pub may_withdraw: bool,
}

/// The public part of a merchant's keys.
#[derive(Debug, Clone)]
pub struct PublicPart {
    pub public_key: String,
    pub may_withdraw: bool,
    pub created_at: DateTime<Utc>,
}

/// Keys to be stored.
pub struct NewKeys<'a> {
    pub public_key: &'a str,
    pub sealed: &'a [u8],
    pub may_withdraw: bool,
}

/// Stores a merchant's keys; the ones before are unknown from the next request on. `false` if there
/// is no such merchant.
pub async fn replace(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    new: &NewKeys<'_>,
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        r#"
        insert into legacy_key (merchant_id, public_key, private_key_sealed, may_withdraw)
        select id, $2, $3, $4 from merchant where id = $1
        on conflict (merchant_id) do update
        set public_key = excluded.public_key, private_key_sealed = excluded.private_key_sealed,
            may_withdraw = excluded.may_withdraw, last_nonce = 0, created_at = now()
        "#,
        merchant_id,
        new.public_key,
        new.sealed,
        new.may_withdraw
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// The same, only while the merchant's public key is `seen`; without one, only while it has none.
/// Of two people who act on one page the second changes nothing.
pub async fn replace_seen(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    seen: Option<&str>,
    new: &NewKeys<'_>,
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        r#"
        with replaced as (
            update legacy_key
            set public_key = $3, private_key_sealed = $4, may_withdraw = $5, last_nonce = 0, created_at = now()
            where merchant_id = $1 and public_key = $2
            returning merchant_id
        ),
        first as (
            insert into legacy_key (merchant_id, public_key, private_key_sealed, may_withdraw)
            select id, $3, $4, $5 from merchant where id = $1 and $2::text is null
            on conflict (merchant_id) do nothing
            returning merchant_id
        )
        select exists (select from replaced union all select from first) as "done!"
        "#,
        merchant_id,
        seen,
        new.public_key,
        new.sealed,
        new.may_withdraw
    )
    .fetch_one(connection)
    .await?;
    Ok(done.done)
}

/// Removes a merchant's keys; `false` if it has none, or others than `seen`, if that is given.
pub async fn remove(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    seen: Option<&str>,
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        "delete from legacy_key where merchant_id = $1 and ($2::text is null or public_key = $2)",
        merchant_id,
        seen
    );
    Ok(done.execute(connection).await?.rows_affected() == 1)
}

/// Takes a nonce of a key; `false` unless it is higher than all before. One statement: of two
/// requests with one nonce one is refused.
pub async fn take_nonce(
    connection: &mut PgConnection,
    public_key: &str,
    nonce: i64,
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        "update legacy_key set last_nonce = $2 where public_key = $1 and last_nonce < $2",
        public_key,
        nonce
    );
    Ok(done.execute(connection).await?.rows_affected() == 1)
}

/// The key of a request. Index: `legacy_key_public_key_unique`.
pub async fn by_public_key(
    connection: &mut PgConnection,
    public_key: &str,
) -> Result<Option<RequestKey>, StorageError> {
    let row = sqlx::query_as!(
        RequestKey,
        "select merchant_id, private_key_sealed as sealed, may_withdraw from legacy_key where public_key = $1",
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
        "select public_key, may_withdraw, created_at from legacy_key where merchant_id = $1",
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
