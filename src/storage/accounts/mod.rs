//! Accounts of the dashboard and their roles.

pub mod devices;
pub mod guesses;
pub mod links;
pub mod passkeys;
pub mod sessions;
pub mod team;

use uuid::Uuid;

use super::{PgConnection, StorageError};
use crate::account::{Role, factor::Factors, session::PENDING_CODES_SECONDS};

/// An account with everything that a sign-in compares. It is never printed.
#[derive(Clone)]
pub struct AccountRow {
    pub id: Uuid,
    pub email: String,
    pub password_hash: Option<String>,
    pub totp_sealed: Option<Vec<u8>>,
    pub totp_pending_sealed: Option<Vec<u8>>,
    pub totp_step: i64,
    pub disabled: bool,
}

/// A role of an account.
#[derive(Debug, Clone)]
pub struct MembershipRow {
    pub merchant_id: Option<Uuid>,
    pub merchant_name: Option<String>,
    pub role: Role,
    /// The merchant is suspended: its people read, and change nothing.
    pub is_suspended: bool,
}

/// Creates the account if there is none with this address, and returns its id.
pub async fn find_or_insert(
    connection: &mut PgConnection,
    id: Uuid,
    email: &str,
) -> Result<Uuid, StorageError> {
    let row = sqlx::query!(
        r#"
        with made as (
            insert into account (id, email) values ($1, $2)
            on conflict (email) do nothing
            returning id
        )
        select id as "id!" from made
        union all
        select id from account where email = $2
        limit 1
        "#,
        id,
        email
    )
    .fetch_one(connection)
    .await?;
    Ok(row.id)
}

/// A role to be offered.
#[derive(Debug, Clone, Copy)]
pub struct NewMembership {
    pub account_id: Uuid,
    pub merchant_id: Option<Uuid>,
    pub role: Role,
    /// The account whose role must still hold when it is accepted; `None` for operators at the
    /// command line.
    pub invited_by: Option<Uuid>,
}

/// Adds a role that waits for its acceptance, and returns its id. `None` if the account has a role
/// there that it has accepted; one that still waits is replaced, and its invitation ends.
pub async fn insert_membership(
    connection: &mut PgConnection,
    new: NewMembership,
) -> Result<Option<Uuid>, StorageError> {
    sqlx::query!(
        r#"
        delete from membership
        where account_id = $1 and merchant_id is not distinct from $2 and accepted_at is null
        "#,
        new.account_id,
        new.merchant_id
    )
    .execute(&mut *connection)
    .await?;
    let row = sqlx::query!(
        r#"
        insert into membership (id, account_id, merchant_id, role, invited_by)
        values ($1, $2, $3, $4, $5)
        on conflict do nothing
        returning id
        "#,
        Uuid::now_v7(),
        new.account_id,
        new.merchant_id,
        new.role.as_str(),
        new.invited_by
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| row.id))
}

/// Accepts one role that waits, if whoever offered it may still offer it. Returns its merchant.
pub async fn accept_membership(
    connection: &mut PgConnection,
    id: Uuid,
) -> Result<Option<Option<Uuid>>, StorageError> {
    let row = sqlx::query!(
        r#"
        update membership m
        set accepted_at = now()
        where m.id = $1 and m.accepted_at is null
          and (m.invited_by is null or exists (
              select from membership i
              join account a on a.id = i.account_id
              where i.account_id = m.invited_by and i.merchant_id is not distinct from m.merchant_id
                and i.role in ('owner', 'operator-admin') and i.accepted_at is not null and a.disabled_at is null
          ))
        returning m.merchant_id
        "#,
        id
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| row.merchant_id))
}

/// Accepts every role that waits; only a sign-in link of the sandbox does that.
pub async fn accept_memberships(
    connection: &mut PgConnection,
    account_id: Uuid,
) -> Result<(), StorageError> {
    sqlx::query!(
        "update membership set accepted_at = now() where account_id = $1 and accepted_at is null",
        account_id
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The roles that an account has accepted, the operators' first, then by the merchant's name.
pub async fn memberships(
    connection: &mut PgConnection,
    account_id: Uuid,
) -> Result<Vec<MembershipRow>, StorageError> {
    let rows = sqlx::query_as!(
        MembershipRow,
        r#"
        select m.merchant_id, merchant.name as "merchant_name?", m.role as "role: _",
               merchant.suspended_at is not null as "is_suspended!"
        from membership m
        left join merchant on merchant.id = m.merchant_id
        where m.account_id = $1 and m.accepted_at is not null
        order by m.merchant_id is not null, merchant.name, m.merchant_id
        limit 200
        "#,
        account_id
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Reads accounts by a condition.
macro_rules! accounts_where {
    ($condition:literal; $argument:expr) => {
        sqlx::query_as!(
            AccountRow,
            r#"
            select id, email, password_hash, totp_sealed,
                   case when totp_pending_at > clock_timestamp() - $2::int * interval '1 second' then totp_pending_sealed end
                       as totp_pending_sealed,
                   totp_step, disabled_at is not null as "disabled!"
            from account
            where "#
                + $condition,
            $argument,
            PENDING_CODES_SECONDS
        )
    };
}

pub async fn by_email(
    connection: &mut PgConnection,
    email: &str,
) -> Result<Option<AccountRow>, StorageError> {
    Ok(accounts_where!("email = $1"; email).fetch_optional(connection).await?)
}

pub async fn by_id(
    connection: &mut PgConnection,
    id: Uuid,
) -> Result<Option<AccountRow>, StorageError> {
    Ok(accounts_where!("id = $1"; id).fetch_optional(connection).await?)
}

/// Locks an account while one of its codes is compared: of two requests with one code, one counts.
pub async fn lock(
    connection: &mut PgConnection,
    id: Uuid,
) -> Result<Option<AccountRow>, StorageError> {
    Ok(accounts_where!("id = $1 for no key update"; id).fetch_optional(connection).await?)
}

pub async fn set_password(
    connection: &mut PgConnection,
    id: Uuid,
    password_hash: &str,
) -> Result<(), StorageError> {
    sqlx::query!("update account set password_hash = $2 where id = $1", id, password_hash)
        .execute(connection)
        .await?;
    Ok(())
}

/// Stores a secret of codes that its owner has yet to confirm.
pub async fn set_pending_codes(
    connection: &mut PgConnection,
    id: Uuid,
    sealed: &[u8],
) -> Result<(), StorageError> {
    sqlx::query!(
        "update account set totp_pending_sealed = $2, totp_pending_at = clock_timestamp() where id = $1",
        id,
        sealed
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Makes the pending secret the account's own, with the step of the code that confirmed it.
pub async fn confirm_codes(
    connection: &mut PgConnection,
    id: Uuid,
    step: i64,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        update account
        set totp_sealed = totp_pending_sealed, totp_pending_sealed = null, totp_pending_at = null, totp_step = $2
        where id = $1 and totp_pending_sealed is not null
        "#,
        id,
        step
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Takes the authenticator app away.
pub async fn remove_codes(connection: &mut PgConnection, id: Uuid) -> Result<(), StorageError> {
    sqlx::query!(
        "update account set totp_sealed = null, totp_pending_sealed = null, totp_pending_at = null where id = $1",
        id
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Replaces all recovery codes.
pub async fn replace_recovery_codes(
    connection: &mut PgConnection,
    id: Uuid,
    recovery_sha256: &[Vec<u8>],
) -> Result<(), StorageError> {
    sqlx::query!("delete from recovery_code where account_id = $1", id)
        .execute(&mut *connection)
        .await?;
    sqlx::query!(
        "insert into recovery_code (account_id, code_sha256) select $1, code from unnest($2::bytea[]) as t (code)",
        id,
        recovery_sha256
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Notes the step of an accepted code. The caller holds the row lock.
pub async fn set_step(
    connection: &mut PgConnection,
    id: Uuid,
    step: i64,
) -> Result<(), StorageError> {
    sqlx::query!("update account set totp_step = $2 where id = $1", id, step)
        .execute(connection)
        .await?;
    Ok(())
}

/// Uses up a recovery code; `false` if there is no such code, or it was used.
pub async fn use_recovery_code(
    connection: &mut PgConnection,
    id: Uuid,
    code_sha256: &[u8],
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        "update recovery_code set used_at = now() where account_id = $1 and code_sha256 = $2 and used_at is null",
        id,
        code_sha256
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// The second factors that an account has.
pub async fn factors(connection: &mut PgConnection, id: Uuid) -> Result<Factors, StorageError> {
    let row = sqlx::query!(
        r#"
        select a.totp_sealed is not null as "has_codes!",
               (select count(*) from passkey p where p.account_id = a.id) as "passkeys!",
               (select count(*) from recovery_code r where r.account_id = a.id and r.used_at is null) as "recovery_codes!"
        from account a
        where a.id = $1
        "#,
        id
    )
    .fetch_one(connection)
    .await?;
    let (has_codes, passkeys, recovery_codes) = (row.has_codes, row.passkeys, row.recovery_codes);
    Ok(Factors { has_codes, passkeys, recovery_codes })
}

/// Takes away everything by which an account proves itself, and ends its sessions.
pub async fn forget_proofs(connection: &mut PgConnection, id: Uuid) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        update account
        set password_hash = null, totp_sealed = null, totp_pending_sealed = null, totp_pending_at = null
        where id = $1
        "#,
        id
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query!(
        r#"
        with codes as (delete from recovery_code where account_id = $1),
             passkeys as (delete from passkey where account_id = $1),
             devices as (delete from account_device where account_id = $1),
             links as (delete from account_link where account_id = $1 and membership_id is null)
        update account_session set ended_at = clock_timestamp() where account_id = $1 and ended_at is null
        "#,
        id
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Ends an account, or opens it again. A trigger ends its sessions. `false` if there is none. One
/// that is opened again has accepted its roles at that moment: an operator without a second factor
/// has the time of a new one to set it up.
pub async fn set_disabled(
    connection: &mut PgConnection,
    email: &str,
    disabled: bool,
) -> Result<bool, StorageError> {
    if !disabled {
        sqlx::query!(
            r#"
            update membership m
            set accepted_at = now()
            from account a
            where a.email = $1 and m.account_id = a.id and a.disabled_at is not null and m.accepted_at is not null
            "#,
            email
        )
        .execute(&mut *connection)
        .await?;
    }
    let done = sqlx::query!(
        "update account set disabled_at = case when $2 then coalesce(disabled_at, now()) end where email = $1",
        email,
        disabled
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// A sealed secret of codes, for the rotation of the master key.
#[derive(Clone)]
pub struct SealedCodes {
    pub account_id: Uuid,
    pub sealed: Vec<u8>,
}

/// The secrets of codes of accounts after `after`, in the order of their ids.
pub async fn sealed_codes(
    connection: &mut PgConnection,
    after: Uuid,
    limit: i64,
) -> Result<Vec<SealedCodes>, StorageError> {
    let rows = sqlx::query_as!(
        SealedCodes,
        r#"
        select id as account_id, totp_sealed as "sealed!"
        from account
        where id > $1 and totp_sealed is not null
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

/// Replaces a sealed secret that is still as it was read.
pub async fn reseal_codes(
    connection: &mut PgConnection,
    before: &SealedCodes,
    after: &[u8],
) -> Result<(), StorageError> {
    sqlx::query!(
        "update account set totp_sealed = $3 where id = $1 and totp_sealed = $2",
        before.account_id,
        before.sealed,
        after
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Operators who accepted their role longer ago than `seconds` and have no second factor, by their
/// addresses. Those who were disabled and let in again begin anew.
pub async fn operators_without_codes(
    connection: &mut PgConnection,
    seconds: i32,
) -> Result<Vec<String>, StorageError> {
    let emails = sqlx::query_scalar!(
        r#"
        select a.email
        from account a
        join membership m on m.account_id = a.id
        where m.merchant_id is null and m.accepted_at <= now() - $1::int * interval '1 second'
          and a.disabled_at is null and a.totp_sealed is null
          and not exists (select from passkey p where p.account_id = a.id)
        order by a.email
        limit 100
        "#,
        seconds
    )
    .fetch_all(connection)
    .await?;
    Ok(emails)
}

/// Accounts that can sign in, at the host of the sandbox's own.
pub async fn enabled_at_host(
    connection: &mut PgConnection,
    host: &str,
) -> Result<Vec<String>, StorageError> {
    let emails = sqlx::query_scalar!(
        "select email from account where split_part(email, '@', 2) = $1 and disabled_at is null order by email limit 100",
        host
    )
    .fetch_all(connection)
    .await?;
    Ok(emails)
}
