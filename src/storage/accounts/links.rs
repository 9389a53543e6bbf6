//! Invitations and sign-in links: used once, until they expire.

use uuid::Uuid;

use crate::{
    account::Role,
    storage::{PgConnection, StorageError},
};

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

/// A link to be stored.
#[derive(Debug, Clone, Copy)]
pub struct NewLink<'a> {
    pub account_id: Uuid,
    pub kind: LinkKind,
    /// The role that an invitation offers.
    pub membership_id: Option<Uuid>,
    pub token_sha256: &'a [u8],
    pub seconds: i32,
}

/// Stores a link in the place of the one that the account has for the same.
pub async fn replace(
    connection: &mut PgConnection,
    link: &NewLink<'_>,
) -> Result<(), StorageError> {
    sqlx::query!(
        "delete from account_link where account_id = $1 and kind = $2 and membership_id is not distinct from $3",
        link.account_id,
        link.kind.as_str(),
        link.membership_id
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query!(
        r#"
        insert into account_link (token_sha256, account_id, kind, membership_id, expires_at)
        values ($1, $2, $3, $4, clock_timestamp() + $5::int * interval '1 second')
        "#,
        link.token_sha256,
        link.account_id,
        link.kind.as_str(),
        link.membership_id,
        link.seconds
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

/// Uses a link up, and returns the role that it offers. `None` if it was used or has expired
/// meanwhile.
pub async fn take(
    connection: &mut PgConnection,
    kind: LinkKind,
    token_sha256: &[u8],
) -> Result<Option<Option<Uuid>>, StorageError> {
    let row = sqlx::query!(
        r#"
        update account_link
        set used_at = clock_timestamp()
        where token_sha256 = $1 and kind = $2 and used_at is null and expires_at > clock_timestamp()
        returning membership_id
        "#,
        token_sha256,
        kind.as_str()
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| row.membership_id))
}

/// The team and role that an invitation offers, for its page; `None` for one that only opens an
/// account again.
pub async fn offer(
    connection: &mut PgConnection,
    token_sha256: &[u8],
) -> Result<Option<Offer>, StorageError> {
    let row = sqlx::query_as!(
        Offer,
        r#"
        select m.role as "role: _", merchant.name as "merchant_name?"
        from account_link l
        join membership m on m.id = l.membership_id
        left join merchant on merchant.id = m.merchant_id
        where l.token_sha256 = $1
        "#,
        token_sha256
    )
    .fetch_optional(connection)
    .await?;
    Ok(row)
}

/// A role on offer.
#[derive(Debug, Clone)]
pub struct Offer {
    pub role: Role,
    /// `None` among the operators.
    pub merchant_name: Option<String>,
}
