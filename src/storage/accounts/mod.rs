//! Accounts of the dashboard and their roles.

pub mod guesses;
pub mod links;
pub mod sessions;

use uuid::Uuid;

use super::{PgConnection, StorageError};
use crate::account::Role;

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

/// Adds a role that waits for its acceptance. `false` if the account has a role there that it has
/// accepted; one that still waits is replaced.
pub async fn insert_membership(
    connection: &mut PgConnection,
    account_id: Uuid,
    merchant_id: Option<Uuid>,
    role: Role,
) -> Result<bool, StorageError> {
    sqlx::query!(
        r#"
        delete from membership
        where account_id = $1 and merchant_id is not distinct from $2 and accepted_at is null
        "#,
        account_id,
        merchant_id
    )
    .execute(&mut *connection)
    .await?;
    let done = sqlx::query!(
        r#"
        insert into membership (id, account_id, merchant_id, role)
        values ($1, $2, $3, $4)
        on conflict do nothing
        "#,
        Uuid::now_v7(),
        account_id,
        merchant_id,
        role.as_str()
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Accepts every role that waits.
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
        select m.merchant_id, merchant.name as "merchant_name?", m.role as "role: _"
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
            select id, email, password_hash, totp_sealed, totp_pending_sealed, totp_step,
                   disabled_at is not null as "disabled!"
            from account
            where "#
                + $condition,
            $argument
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
    sqlx::query!("update account set totp_pending_sealed = $2 where id = $1", id, sealed)
        .execute(connection)
        .await?;
    Ok(())
}

/// Makes the pending secret the account's own, with the step of the code that confirmed it, and
/// replaces all recovery codes.
pub async fn confirm_codes(
    connection: &mut PgConnection,
    id: Uuid,
    step: i64,
    recovery_sha256: &[Vec<u8>],
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        update account
        set totp_sealed = totp_pending_sealed, totp_pending_sealed = null, totp_step = $2
        where id = $1 and totp_pending_sealed is not null
        "#,
        id,
        step
    )
    .execute(&mut *connection)
    .await?;
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

/// The recovery codes that are left.
pub async fn recovery_codes_left(
    connection: &mut PgConnection,
    id: Uuid,
) -> Result<i64, StorageError> {
    let row = sqlx::query!(
        r#"select count(*) as "left!" from recovery_code where account_id = $1 and used_at is null"#,
        id
    )
    .fetch_one(connection)
    .await?;
    Ok(row.left)
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
