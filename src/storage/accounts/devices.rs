//! Browsers in which an account signed in wholly.

use uuid::Uuid;

use crate::{
    account::session::{DEVICE_DAYS, DEVICES_MAX},
    storage::{PgConnection, StorageError},
};

/// Returns true if the account signed in wholly in the browser with this token.
pub async fn is_known(
    connection: &mut PgConnection,
    account_id: Uuid,
    token_sha256: &[u8],
) -> Result<bool, StorageError> {
    let known = sqlx::query_scalar!(
        r#"
        select exists (
            select from account_device
            where token_sha256 = $2 and account_id = $1 and seen_at > now() - $3::int * interval '1 day'
        ) as "known!"
        "#,
        account_id,
        token_sha256,
        DEVICE_DAYS
    )
    .fetch_one(connection)
    .await?;
    Ok(known)
}

/// Notes a sign-in in a browser. `false` if the account does not know this one.
pub async fn touch(
    connection: &mut PgConnection,
    account_id: Uuid,
    token_sha256: &[u8],
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        r#"
        update account_device
        set seen_at = clock_timestamp()
        where token_sha256 = $2 and account_id = $1 and seen_at > now() - $3::int * interval '1 day'
        "#,
        account_id,
        token_sha256,
        DEVICE_DAYS
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Adds a browser to those of an account, of which the ones used last stay.
pub async fn insert(
    connection: &mut PgConnection,
    account_id: Uuid,
    token_sha256: &[u8],
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        delete from account_device
        where token_sha256 in (
            select token_sha256 from account_device where account_id = $1
            order by seen_at desc, token_sha256
            offset $2
        )
        "#,
        account_id,
        DEVICES_MAX - 1
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query!(
        "insert into account_device (token_sha256, account_id) values ($2, $1)",
        account_id,
        token_sha256
    )
    .execute(connection)
    .await?;
    Ok(())
}
