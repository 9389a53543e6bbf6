//! What keeps a stolen order from emptying the wallet: holds, releases by two people, the stop switch, and sums per hour
//! and day.

use rust_decimal::Decimal;
use uuid::Uuid;

use crate::storage::{PgConnection, StorageError, numeric};

/// Holds an order: nothing more is signed for it. The first reason stays.
pub async fn hold(
    connection: &mut PgConnection,
    id: Uuid,
    reason: &str,
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        r#"
        update payout_order
        set held_at = now(), hold_reason = $2, updated_at = clock_timestamp()
        where id = $1 and held_at is null
        "#,
        id,
        reason
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Notes that a person lets an order go; how many people have by now.
pub async fn release(
    connection: &mut PgConnection,
    id: Uuid,
    released_by: &str,
) -> Result<i64, StorageError> {
    sqlx::query!(
        "insert into payout_release (order_id, released_by) values ($1, $2) on conflict do nothing",
        id,
        released_by
    )
    .execute(&mut *connection)
    .await?;
    releases(connection, id).await
}

/// How many people let an order go.
pub async fn releases(connection: &mut PgConnection, id: Uuid) -> Result<i64, StorageError> {
    let row =
        sqlx::query!(r#"select count(*) as "count!" from payout_release where order_id = $1"#, id)
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

/// Why nothing may be signed on `network` now, if the switch is thrown.
pub async fn stopped(
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

/// What was signed for recipients in the last hour and the last day, in USD, over all merchants. Signers that sum at once wait for one
/// another, so that together they stay within the limit.
pub async fn signed_lately(
    connection: &mut PgConnection,
) -> Result<(Decimal, Decimal), StorageError> {
    sqlx::query!(
        r#"select pg_advisory_xact_lock(hashtextextended('payout:limits', 0)) as "locked?: ()""#
    )
    .fetch_one(&mut *connection)
    .await?;
    let row = sqlx::query!(
        r#"
        select coalesce(sum(value_usd) filter (where created_at > now() - interval '1 hour'), 0) as "hour!",
               coalesce(sum(value_usd), 0) as "day!"
        from payout_payment
        where created_at > now() - interval '24 hours' and purpose in ('pay', 'refund')
        "#
    )
    .fetch_one(connection)
    .await?;
    let decimal = |value| numeric::to_decimal("payout_payment", value);
    Ok((decimal(&row.hour)?, decimal(&row.day)?))
}
