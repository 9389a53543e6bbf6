//! Sending an event again at its merchant's wish.

use uuid::Uuid;

use crate::storage::{
    PgConnection, StorageError,
    deliveries::{AttemptRow, ChannelRoutes},
};

/// Starts a fresh cycle of a delivery that has ended, well or badly, and queues its first message.
/// One that is under way is left as it is. Returns whether a cycle was started.
///
/// The parked message of a dead letter names the same cycle: put back by an operator as well, it is
/// a copy of this one.
pub async fn restart(
    connection: &mut PgConnection,
    routes: ChannelRoutes<'_>,
    delivery_id: Uuid,
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        r#"
        with again as (
            update delivery
            set state = 'pending', cycle = cycle + 1, attempts = 0, next_attempt_at = now(), dead_since = null,
                updated_at = now()
            where id = $1 and state in ('delivered', 'dropped', 'dead')
            returning id, channel, event_id, merchant_id, cycle
        )
        insert into outbox (route, body)
        select case channel when 'payout' then $3 else $2 end,
               json_build_object('v', 1, 'type', 'delivery', 'merchant_id', merchant_id, 'delivery_id', id,
                                 'event_id', event_id, 'cycle', cycle, 'attempt', 1)::text
        from again
        "#,
        delivery_id,
        routes.ipn,
        routes.payout
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// The newest attempts of a delivery, in order. A delivery that is sent again has more with each
/// cycle.
pub async fn newest_attempts(
    connection: &mut PgConnection,
    delivery_id: Uuid,
) -> Result<Vec<AttemptRow>, StorageError> {
    let mut rows = sqlx::query_as!(
        AttemptRow,
        r#"
        select cycle, attempt, started_at, duration_ms, status, error, excerpt
        from delivery_attempt
        where delivery_id = $1
        order by cycle desc, attempt desc
        limit 100
        "#,
        delivery_id
    )
    .fetch_all(connection)
    .await?;
    rows.reverse();
    Ok(rows)
}
