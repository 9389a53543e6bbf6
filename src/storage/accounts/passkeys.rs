//! Passkeys, and the challenges that were answered.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::{
    account::passkey::{CHALLENGE_SECONDS, Key, NewCredential},
    storage::{PgConnection, StorageError},
};

/// A passkey with everything that a sign-in compares.
#[derive(Debug, Clone)]
pub struct PasskeyRow {
    pub id: Uuid,
    pub account_id: Uuid,
    pub key: Key,
}

/// A passkey in its account's list.
#[derive(Debug, Clone)]
pub struct ListedPasskey {
    pub id: Uuid,
    pub name: String,
    pub credential_id: Vec<u8>,
    pub created_at: DateTime<Utc>,
    pub used_at: Option<DateTime<Utc>>,
}

/// Stores a passkey. `false` if some account has this credential already.
pub async fn insert(
    connection: &mut PgConnection,
    account_id: Uuid,
    credential: &NewCredential,
    name: &str,
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        r#"
        insert into passkey (id, account_id, credential_id, public_key, sign_count, name)
        values ($1, $2, $3, $4, $5, $6)
        on conflict (credential_id) do nothing
        "#,
        Uuid::now_v7(),
        account_id,
        credential.id,
        credential.key.public_key.as_slice(),
        i64::from(credential.key.sign_count),
        name
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// The passkey with this credential. It changes under the lock of its account alone.
pub async fn by_credential(
    connection: &mut PgConnection,
    credential_id: &[u8],
) -> Result<Option<PasskeyRow>, StorageError> {
    let row = sqlx::query!(
        "select id, account_id, public_key, sign_count from passkey where credential_id = $1",
        credential_id
    )
    .fetch_optional(connection)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let damaged = || StorageError::damaged("passkey", "a key or a counter");
    let public_key = row.public_key.try_into().map_err(|_| damaged())?;
    let sign_count = row.sign_count.try_into().map_err(|_| damaged())?;
    let key = Key { public_key, sign_count };
    Ok(Some(PasskeyRow { id: row.id, account_id: row.account_id, key }))
}

/// Notes a use with the authenticator's counter.
pub async fn note_use(
    connection: &mut PgConnection,
    id: Uuid,
    sign_count: u32,
) -> Result<(), StorageError> {
    sqlx::query!(
        "update passkey set sign_count = $2, used_at = clock_timestamp() where id = $1",
        id,
        i64::from(sign_count)
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The passkeys of an account, the oldest first.
pub async fn of_account(
    connection: &mut PgConnection,
    account_id: Uuid,
) -> Result<Vec<ListedPasskey>, StorageError> {
    let rows = sqlx::query_as!(
        ListedPasskey,
        r#"
        select id, name, credential_id, created_at, used_at
        from passkey
        where account_id = $1
        order by id
        limit 100
        "#,
        account_id
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Deletes a passkey and returns its name. `None` if the account has no such passkey.
pub async fn delete(
    connection: &mut PgConnection,
    account_id: Uuid,
    id: Uuid,
) -> Result<Option<String>, StorageError> {
    let row = sqlx::query!(
        "delete from passkey where account_id = $1 and id = $2 returning name",
        account_id,
        id
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| row.name))
}

/// Uses a challenge up. `false` if it was answered before; of two answers at once, one counts.
pub async fn use_challenge(
    connection: &mut PgConnection,
    challenge_sha256: &[u8],
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        "insert into passkey_challenge (challenge_sha256) values ($1) on conflict do nothing",
        challenge_sha256
    )
    .execute(&mut *connection)
    .await?;
    // Twice its life later a challenge is refused for its age.
    sqlx::query!(
        r#"
        delete from passkey_challenge
        where challenge_sha256 in (
            select challenge_sha256 from passkey_challenge
            where used_at < clock_timestamp() - $1::bigint * interval '2 seconds'
            limit 100
            for update skip locked
        )
        "#,
        CHALLENGE_SECONDS
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}
