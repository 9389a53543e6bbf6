//! Backlog of payouts and its age, for the gauges behind the alerts.

use crate::storage::{PgConnection, StorageError};

/// Counts over all orders, and ages in seconds.
pub struct Pressure {
    /// Orders on hold: nothing is signed until an operator releases them.
    pub held: i64,
    /// Age of the oldest work, 0 without any: time since funding of an order that is being paid
    /// out, or since the last change of an ended order that has a remainder to refund and a refund
    /// address, and is not on hold.
    pub oldest_seconds: i64,
    /// Signed payments that have not been mined for an hour.
    pub stuck: i64,
    /// Networks on which signing is stopped; a stop of all networks counts as one.
    pub stopped: i64,
    /// One while the signing of x402's settlements alone is stopped.
    pub x402_stopped: i64,
}

pub async fn pressure(connection: &mut PgConnection) -> Result<Pressure, StorageError> {
    let row = sqlx::query!(
        r#"
        select (select count(*) from payout_order where held_at is not null) as "held!",
               (select coalesce(extract(epoch from now() - min(since))::bigint, 0)
                from (select min(funded_at) as since
                      from payout_order where state in ('funded', 'processing')
                      union all
                      select min(updated_at)
                      from payout_order
                      where finished_at is not null and credited + late > kept + reserved + paid + returned
                        and refund_address is not null and held_at is null) at_work) as "oldest_seconds!",
               (select count(*) from payout_payment
                where state in ('signed', 'sent') and height is null and created_at < now() - interval '1 hour') as "stuck!",
               (select count(*) from payout_stop where network <> 'x402') as "stopped!",
               (select count(*) from payout_stop where network = 'x402') as "x402_stopped!"
        "#
    )
    .fetch_one(connection)
    .await?;
    Ok(Pressure {
        held: row.held,
        oldest_seconds: row.oldest_seconds,
        stuck: row.stuck,
        stopped: row.stopped,
        x402_stopped: row.x402_stopped,
    })
}
