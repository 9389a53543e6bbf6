//! Data sealed under the master key: merchants' secrets, and the proof of which key that is.

use uuid::Uuid;

use super::{PgConnection, StorageError};

/// A merchant's sealed webhook secret.
#[derive(Debug, Clone)]
pub struct SealedSecret {
    pub merchant_id: Uuid,
    pub sealed: Vec<u8>,
}

/// One secret on its way from the old key to the new one.
#[derive(Debug, Clone)]
pub struct Resealed {
    pub merchant_id: Uuid,
    pub before: Vec<u8>,
    pub after: Vec<u8>,
}

pub async fn proof(connection: &mut PgConnection) -> Result<Option<Vec<u8>>, StorageError> {
    let row = sqlx::query!("select sealed from master_key_proof").fetch_optional(connection);
    Ok(row.await?.map(|row| row.sealed))
}

/// Stores the first proof. Of several processes that begin at once, one does.
pub async fn insert_proof(
    connection: &mut PgConnection,
    sealed: &[u8],
) -> Result<(), StorageError> {
    sqlx::query!(
        "insert into master_key_proof (sealed) values ($1) on conflict do nothing",
        sealed
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Replaces the proof if it is still `before`.
pub async fn replace_proof(
    connection: &mut PgConnection,
    before: &[u8],
    after: &[u8],
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        "update master_key_proof set sealed = $2, updated_at = now() where sealed = $1",
        before,
        after
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// The oldest and the newest secrets, up to `each` of both: a few that stand for all.
pub async fn samples(
    connection: &mut PgConnection,
    each: i64,
) -> Result<Vec<SealedSecret>, StorageError> {
    let rows = sqlx::query_as!(
        SealedSecret,
        r#"
        (select id as "merchant_id!", webhook_secret_sealed as "sealed!" from merchant order by id limit $1)
        union
        (select id, webhook_secret_sealed from merchant order by id desc limit $1)
        "#,
        each
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// The secrets after `after`, in the order of their merchants' ids. Index: `merchant_pkey`.
pub async fn after(
    connection: &mut PgConnection,
    after: Uuid,
    limit: i64,
) -> Result<Vec<SealedSecret>, StorageError> {
    let rows = sqlx::query_as!(
        SealedSecret,
        r#"
        select id as merchant_id, webhook_secret_sealed as sealed
        from merchant
        where id > $1
        order by id
        limit $2
        "#,
        after,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

pub async fn count(connection: &mut PgConnection) -> Result<i64, StorageError> {
    let row = sqlx::query!(r#"select count(*) as "count!" from merchant"#).fetch_one(connection);
    Ok(row.await?.count)
}

/// Replaces secrets that are still as they were read; one that its merchant was given anew
/// meanwhile stays. Returns how many.
pub async fn reseal(
    connection: &mut PgConnection,
    secrets: &[Resealed],
) -> Result<u64, StorageError> {
    let ids: Vec<_> = secrets.iter().map(|secret| secret.merchant_id).collect();
    let before: Vec<_> = secrets.iter().map(|secret| secret.before.clone()).collect();
    let after: Vec<_> = secrets.iter().map(|secret| secret.after.clone()).collect();
    let done = sqlx::query!(
        r#"
        update merchant m
        set webhook_secret_sealed = t.after
        from unnest($1::uuid[], $2::bytea[], $3::bytea[]) as t (id, before, after)
        where m.id = t.id and m.webhook_secret_sealed = t.before
        "#,
        &ids,
        &before,
        &after
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}
