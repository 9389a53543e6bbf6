//! The limits that keep a stolen order from emptying the wallet: holds, releases by two people, the
//! stop switch, and sums per hour and day.

use rust_decimal::Decimal;
use uuid::Uuid;

use crate::{
    payout::hold::Hold,
    storage::{PgConnection, StorageError, numeric},
};

/// Holds an order: nothing more is signed for it. `false` if an earlier hold stays
/// ([`Hold::replaces`]). The caller's transaction has the row until it ends.
pub async fn hold(
    connection: &mut PgConnection,
    id: Uuid,
    hold: &Hold,
) -> Result<bool, StorageError> {
    let row =
        sqlx::query!("select hold_reason from payout_order where id = $1 for no key update", id)
            .fetch_optional(&mut *connection)
            .await?;
    let Some(row) = row else { return Ok(false) };
    let earlier = row.hold_reason.map(Hold::from_stored);
    if earlier.is_some_and(|earlier| !hold.replaces(&earlier)) {
        return Ok(false);
    }
    sqlx::query!(
        r#"
        update payout_order
        set held_at = clock_timestamp(), hold_reason = $2, updated_at = clock_timestamp()
        where id = $1
        "#,
        id,
        hold.reason()
    )
    .execute(connection)
    .await?;
    Ok(true)
}

/// An operator's word that lets an order go.
#[derive(Debug, Clone, Copy)]
pub struct Release<'a> {
    pub by: &'a str,
    /// The digest of the page that a signed-in account has seen; `None` for a user of the operating
    /// system.
    pub seen: Option<&'a str>,
}

/// Notes that an operator lets an order go; returns how many have by now, or `None` if the account
/// may not be one of the `people_needed`. The caller holds the row lock.
///
/// An operator who let an earlier hold end has not seen why this one began, and an account that saw
/// another page has not seen this order: such a row makes room, and its content is in the audit.
pub async fn release(
    connection: &mut PgConnection,
    id: Uuid,
    release: Release<'_>,
    people_needed: i64,
) -> Result<Option<i64>, StorageError> {
    sqlx::query!(
        r#"
        delete from payout_release r
        using payout_order o
        where r.order_id = $1 and o.id = r.order_id
          and (r.released_by = $2 and r.created_at <= coalesce(o.held_at, o.funded_at)
               or r.by_account and $3::text is not null and r.seen is distinct from $3)
        "#,
        id,
        release.by,
        release.seen
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query!(
        r#"
        insert into payout_release (order_id, released_by, created_at, by_account, seen)
        values ($1, $2, clock_timestamp(), $3::text is not null, $3)
        on conflict do nothing
        "#,
        id,
        release.by,
        release.seen
    )
    .execute(&mut *connection)
    .await?;
    let taken_back = take_back(connection, id, people_needed).await?;
    if release.seen.is_some() && taken_back.iter().any(|email| email == release.by) {
        return Ok(None);
    }
    Ok(Some(releases(connection, id).await?))
}

/// Deletes the releases of accounts that do not count any more, and returns their addresses.
///
/// Who may not release now, or was let in by another account while the order waited, is no second
/// person.
async fn take_back(
    connection: &mut PgConnection,
    id: Uuid,
    people_needed: i64,
) -> Result<Vec<String>, StorageError> {
    let emails = sqlx::query_scalar!(
        r#"
        delete from payout_release r
        using payout_order o
        where r.order_id = $1 and o.id = r.order_id and r.by_account
          and not exists (
              select from account a
              join membership m on m.account_id = a.id and m.merchant_id is null
              where a.email = r.released_by and a.disabled_at is null and m.accepted_at is not null
                and m.role in ('operator-admin', 'operator-finance')
                and ($2 or m.invited_by is null or m.accepted_at <= coalesce(o.held_at, o.funded_at))
          )
        returning r.released_by
        "#,
        id,
        people_needed < 2
    )
    .fetch_all(connection)
    .await?;
    Ok(emails)
}

/// The number of operators that let an order go: since it was held, or, if it is not, since it was
/// funded. A release counts only for facts that could be seen when it was given. Those of signed-in
/// accounts and those of users of the operating system do not add up, because one person may have
/// both. Index: `payout_release_pkey`.
pub async fn releases(connection: &mut PgConnection, id: Uuid) -> Result<i64, StorageError> {
    let row = sqlx::query!(
        r#"
        select greatest(count(*) filter (where r.by_account), count(*) filter (where not r.by_account)) as "count!"
        from payout_release r
        join payout_order o on o.id = r.order_id
        where r.order_id = $1 and (coalesce(o.held_at, o.funded_at) < r.created_at) is not false
        "#,
        id
    )
    .fetch_one(connection)
    .await?;
    Ok(row.count)
}

pub async fn end_hold(connection: &mut PgConnection, id: Uuid) -> Result<(), StorageError> {
    sqlx::query!(
        "update payout_order set held_at = null, hold_reason = null, updated_at = clock_timestamp() where id = $1",
        id
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Notes the reason for which an order waits, or that it waits no more.
pub async fn note_wait(
    connection: &mut PgConnection,
    id: Uuid,
    waits_for: Option<&str>,
) -> Result<(), StorageError> {
    sqlx::query!(
        "update payout_order set waits_for = $2 where id = $1 and waits_for is distinct from $2",
        id,
        waits_for
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The reason for which nothing may be signed for an order now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    Switch { reason: String },
    MerchantSuspended,
}

/// The stop, if there is one, that forbids signing for a merchant's orders on `network`.
pub async fn stopped(
    connection: &mut PgConnection,
    network: &str,
    merchant_id: Uuid,
) -> Result<Option<Stop>, StorageError> {
    let row = sqlx::query!(
        r#"
        select (select reason from payout_stop where network in ('*', $1) order by network limit 1) as reason,
               exists (select from merchant where id = $2 and suspended_at is not null) as "suspended!"
        "#,
        network,
        merchant_id
    )
    .fetch_one(connection)
    .await?;
    let switched = row.reason.map(|reason| Stop::Switch { reason });
    Ok(switched.or_else(|| row.suspended.then_some(Stop::MerchantSuspended)))
}

/// The reason for which the stop switch of `network` is thrown, if it is.
pub async fn switch(
    connection: &mut PgConnection,
    network: &str,
) -> Result<Option<String>, StorageError> {
    let row = sqlx::query!(
        "select reason from payout_stop where network in ('*', $1) order by network limit 1",
        network
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| row.reason))
}

pub async fn stop(
    connection: &mut PgConnection,
    network: &str,
    reason: &str,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        insert into payout_stop (network, reason) values ($1, $2)
        on conflict (network) do update set reason = excluded.reason
        "#,
        network,
        reason
    )
    .execute(connection)
    .await?;
    Ok(())
}

pub async fn resume(connection: &mut PgConnection, network: &str) -> Result<bool, StorageError> {
    let done = sqlx::query!("delete from payout_stop where network = $1", network)
        .execute(connection)
        .await?;
    Ok(done.rows_affected() == 1)
}

/// USD signed for recipients in the last hour and the last 24 hours.
#[derive(Debug, Clone, Copy)]
pub struct SignedLately {
    pub hour: Decimal,
    pub day: Decimal,
    pub merchant_hour: Decimal,
    pub merchant_day: Decimal,
}

/// Sums over all merchants and for one of them. Signers that sum at once wait for one another, so
/// that together they stay within the limits.
pub async fn signed_lately(
    connection: &mut PgConnection,
    merchant_id: Uuid,
) -> Result<SignedLately, StorageError> {
    sqlx::query!(
        r#"select pg_advisory_xact_lock(hashtextextended('payout:limits', 0)) as "locked?: ()""#
    )
    .fetch_one(&mut *connection)
    .await?;
    let row = sqlx::query!(
        r#"
        select coalesce(sum(value_usd) filter (where late), 0) as "hour!", coalesce(sum(value_usd), 0) as "day!",
               coalesce(sum(value_usd) filter (where late and own), 0) as "merchant_hour!",
               coalesce(sum(value_usd) filter (where own), 0) as "merchant_day!"
        from (
            select p.value_usd, p.created_at > now() - interval '1 hour' as late, o.merchant_id = $1 as own
            from payout_payment p
            join payout_order o on o.id = p.order_id
            where p.created_at > now() - interval '24 hours' and p.purpose in ('pay', 'refund')
        ) signed
        "#,
        merchant_id
    )
    .fetch_one(connection)
    .await?;
    let decimal = |value| numeric::to_decimal("payout_payment", value);
    Ok(SignedLately {
        hour: decimal(&row.hour)?,
        day: decimal(&row.day)?,
        merchant_hour: decimal(&row.merchant_hour)?,
        merchant_day: decimal(&row.merchant_day)?,
    })
}
