//! Sessions of the dashboard. The clock of the database ends them.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::{
    account::session::{CONFIRMED_SECONDS, HALF_SECONDS, IDLE_SECONDS, LIFE_SECONDS},
    storage::{PgConnection, StorageError},
};

/// The ways by which a session is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenedBy {
    Password,
    Link,
    Invitation,
    Passkey,
}

/// The second factor that completed a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Factor {
    Code,
    Recovery,
    Passkey,
}

impl Factor {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Recovery => "recovery",
            Self::Passkey => "passkey",
        }
    }
}

impl OpenedBy {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Password => "password",
            Self::Link => "link",
            Self::Invitation => "invitation",
            Self::Passkey => "passkey",
        }
    }
}

/// A session to be stored.
#[derive(Debug, Clone)]
pub struct NewSession<'a> {
    pub id_sha256: &'a [u8],
    pub account_id: Uuid,
    pub merchant_id: Option<Uuid>,
    pub complete: bool,
    pub opened_by: OpenedBy,
    pub factor: Option<Factor>,
    pub address: &'a str,
    pub agent: &'a str,
}

/// A session that is alive.
#[derive(Debug, Clone)]
pub struct SessionRow {
    pub handle: Uuid,
    pub account_id: Uuid,
    pub email: String,
    pub merchant_id: Option<Uuid>,
    pub complete: bool,
    /// Opened by a link of the sandbox, which asks for no second factor.
    pub by_link: bool,
    /// Completed by a recovery code: the account's other factor may be lost.
    pub by_recovery: bool,
    pub has_codes: bool,
    pub has_passkeys: bool,
    /// The account proved itself again a moment ago.
    pub is_confirmed: bool,
}

/// A session in its account's list.
#[derive(Debug, Clone)]
pub struct ListedSession {
    pub handle: Uuid,
    pub address: String,
    pub agent: String,
    pub opened_at: DateTime<Utc>,
    pub seen_at: DateTime<Utc>,
}

/// Stores a session. Whoever opens one has just proved who he is, so it counts as confirmed.
pub async fn insert(
    connection: &mut PgConnection,
    session: &NewSession<'_>,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        insert into account_session (id_sha256, handle, account_id, merchant_id, complete, opened_by, confirmed_at,
            address, agent, factor)
        values ($1, $2, $3, $4, $5, $6, case when $5 then clock_timestamp() end, $7, $8, $9)
        "#,
        session.id_sha256,
        Uuid::now_v7(),
        session.account_id,
        session.merchant_id,
        session.complete,
        session.opened_by.as_str(),
        session.address,
        session.agent,
        session.factor.map(Factor::as_str)
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The origin of a request in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Somebody did something.
    Somebody,
    /// A page that is open somewhere asked by itself, which is no use of the session.
    Poll,
}

/// The session with this id, if it is alive; that somebody used it is noted.
pub async fn touch(
    connection: &mut PgConnection,
    id_sha256: &[u8],
    by: Use,
) -> Result<Option<SessionRow>, StorageError> {
    let row = sqlx::query_as!(
        SessionRow,
        r#"
        update account_session s
        set seen_at = case when $6 then clock_timestamp() else s.seen_at end
        from account a
        where s.id_sha256 = $1 and a.id = s.account_id and s.ended_at is null and a.disabled_at is null
          and s.seen_at > clock_timestamp() - $2::int * interval '1 second'
          and s.opened_at > clock_timestamp()
              - (case when s.complete then $3::int else $4::int end) * interval '1 second'
        returning s.handle, s.account_id, a.email, s.merchant_id, s.complete, s.opened_by = 'link' as "by_link!",
                  coalesce(s.factor = 'recovery', false) as "by_recovery!", a.totp_sealed is not null as "has_codes!",
                  exists (select from passkey p where p.account_id = a.id) as "has_passkeys!",
                  coalesce(s.confirmed_at > clock_timestamp() - $5::int * interval '1 second', false) as "is_confirmed!"
        "#,
        id_sha256,
        IDLE_SECONDS,
        LIFE_SECONDS,
        HALF_SECONDS,
        CONFIRMED_SECONDS,
        by == Use::Somebody
    )
    .fetch_optional(connection)
    .await?;
    Ok(row)
}

/// Gives a session another id after its account has proved itself: what somebody planted or saw
/// before opens nothing. A `factor` is noted where it completed the session, or took the place of a
/// recovery code. `false` if the session has ended meanwhile.
pub async fn renew(
    connection: &mut PgConnection,
    handle: Uuid,
    id_sha256: &[u8],
    factor: Option<Factor>,
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        r#"
        update account_session
        set id_sha256 = $2, complete = true, confirmed_at = clock_timestamp(), seen_at = clock_timestamp(),
            opened_at = case when complete then opened_at else clock_timestamp() end,
            factor = coalesce($3, factor)
        where handle = $1 and ended_at is null
        "#,
        handle,
        id_sha256,
        factor.map(Factor::as_str)
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

pub async fn choose_merchant(
    connection: &mut PgConnection,
    handle: Uuid,
    merchant_id: Uuid,
) -> Result<(), StorageError> {
    sqlx::query!(
        "update account_session set merchant_id = $2 where handle = $1",
        handle,
        merchant_id
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Ends one session of an account. `false` if it has no such session.
pub async fn end(
    connection: &mut PgConnection,
    account_id: Uuid,
    handle: Uuid,
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        r#"
        update account_session set ended_at = clock_timestamp()
        where account_id = $1 and handle = $2 and ended_at is null
        "#,
        account_id,
        handle
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Ends all sessions of an account but one.
pub async fn end_others(
    connection: &mut PgConnection,
    account_id: Uuid,
    handle: Uuid,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        update account_session set ended_at = clock_timestamp()
        where account_id = $1 and handle <> $2 and ended_at is null
        "#,
        account_id,
        handle
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The sessions of an account that are alive, the last used first.
pub async fn of_account(
    connection: &mut PgConnection,
    account_id: Uuid,
) -> Result<Vec<ListedSession>, StorageError> {
    let rows = sqlx::query_as!(
        ListedSession,
        r#"
        select handle, address, agent, opened_at, seen_at
        from account_session
        where account_id = $1 and ended_at is null and complete
          and seen_at > clock_timestamp() - $2::int * interval '1 second'
          and opened_at > clock_timestamp() - $3::int * interval '1 second'
        order by seen_at desc
        limit 100
        "#,
        account_id,
        IDLE_SECONDS,
        LIFE_SECONDS
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Returns true if the account signed in wholly from this address within 30 days.
pub async fn is_known_address(
    connection: &mut PgConnection,
    account_id: Uuid,
    address: &str,
) -> Result<bool, StorageError> {
    let known = sqlx::query_scalar!(
        r#"
        select exists (
            select from account_session
            where account_id = $1 and address = $2 and complete and opened_at > now() - interval '30 days'
        ) as "known!"
        "#,
        account_id,
        address
    )
    .fetch_one(connection)
    .await?;
    Ok(known)
}

/// Deletes sessions of an account that were opened more than 30 days ago, and those of more
/// than a day ago whose second factor never came.
pub async fn forget(connection: &mut PgConnection, account_id: Uuid) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        delete from account_session
        where account_id = $1
          and opened_at < now() - (case when complete then 30 else 1 end) * interval '1 day'
        "#,
        account_id
    )
    .execute(connection)
    .await?;
    Ok(())
}
