//! Invitations and sign-in links: used once, until they expire.

use uuid::Uuid;

use crate::storage::{PgConnection, StorageError};

/// The kind of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkKind {
    Invitation,
    SignIn,
}

impl LinkKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Invitation => "invitation",
            Self::SignIn => "sign-in",
        }
    }
}

/// Stores a link in the place of all others of its kind that the account has.
pub async fn replace(
    connection: &mut PgConnection,
    account_id: Uuid,
    kind: LinkKind,
    token_sha256: &[u8],
    seconds: i32,
) -> Result<(), StorageError> {
    sqlx::query!(
        "delete from account_link where account_id = $1 and kind = $2",
        account_id,
        kind.as_str()
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query!(
        r#"
        insert into account_link (token_sha256, account_id, kind, expires_at)
        values ($1, $2, $3, clock_timestamp() + $4::int * interval '1 second')
        "#,
        token_sha256,
        account_id,
        kind.as_str(),
        seconds
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The account of a link that may still be used. Changes nothing.
pub async fn account_of(
    connection: &mut PgConnection,
    kind: LinkKind,
    token_sha256: &[u8],
) -> Result<Option<Uuid>, StorageError> {
    let row = sqlx::query!(
        r#"
        select account_id
        from account_link
        where token_sha256 = $1 and kind = $2 and used_at is null and expires_at > clock_timestamp()
        "#,
        token_sha256,
        kind.as_str()
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| row.account_id))
}

/// Uses a link up. `false` if it was used or has expired meanwhile.
pub async fn take(
    connection: &mut PgConnection,
    kind: LinkKind,
    token_sha256: &[u8],
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        r#"
        update account_link
        set used_at = clock_timestamp()
        where token_sha256 = $1 and kind = $2 and used_at is null and expires_at > clock_timestamp()
        "#,
        token_sha256,
        kind.as_str()
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}
