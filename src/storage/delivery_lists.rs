//! Deliveries in the lists of the dashboard: a merchant's page by page, and dead letters by cause.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{
    PgConnection, StorageError,
    deliveries::{ChannelRoutes, DeliveryRow, delivery_rows},
};
use crate::webhook::{Channel, retry::DeliveryState};

/// A merchant's deliveries before a place, the newest first. Index: `delivery_by_merchant`.
pub async fn of_merchant(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    state: Option<DeliveryState>,
    (before, id): (DateTime<Utc>, Uuid),
    limit: i64,
) -> Result<Vec<DeliveryRow>, StorageError> {
    let rows = delivery_rows!(
        "where d.merchant_id = $1 and d.created_at <= $2 and (d.created_at, d.id) < ($2, $3)
           and ($4::text is null or d.state = $4)
         order by d.created_at desc, d.id desc
         limit $5",
        merchant_id,
        before,
        id,
        state.map(DeliveryState::as_str),
        limit
    );
    Ok(rows.fetch_all(connection).await?)
}

/// Dead letters that have everything in common: most likely one repair lets all of them through.
#[derive(Debug, Clone)]
pub struct DeadGroup {
    pub merchant_id: Uuid,
    pub merchant_name: String,
    pub channel: Channel,
    /// Host and port of the receiver; its path may hold a token.
    pub host: String,
    pub cause: String,
    pub count: i64,
    pub oldest: DateTime<Utc>,
    pub newest: DateTime<Utc>,
}

/// The criteria of a group.
#[derive(Debug, Clone)]
pub struct DeadGroupKey {
    pub merchant_id: Uuid,
    pub channel: Channel,
    pub host: String,
    pub cause: String,
}

/// The largest groups first. Index: `delivery_dead`.
pub async fn dead_groups(
    connection: &mut PgConnection,
    limit: i64,
) -> Result<Vec<DeadGroup>, StorageError> {
    let rows = sqlx::query_as!(
        DeadGroup,
        r#"
        select d.merchant_id, m.name as merchant_name, d.channel as "channel: _",
               split_part(split_part(split_part(d.url, '://', 2), '/', 1), '@', -1) as "host!",
               coalesce(d.last_error, 'status ' || d.last_status, 'unknown') as "cause!",
               count(*) as "count!", min(d.dead_since) as "oldest!", max(d.dead_since) as "newest!"
        from delivery d
        join merchant m on m.id = d.merchant_id
        where d.state = 'dead' and d.dead_since is not null
        group by 1, 2, 3, 4, 5
        order by count(*) desc, min(d.dead_since), 1, 4, 5
        limit $1
        "#,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Queues a fresh cycle for the dead letters of a group, up to `limit`, the longest dead first.
/// Returns their number.
pub async fn queue_group(
    connection: &mut PgConnection,
    routes: ChannelRoutes<'_>,
    group: &DeadGroupKey,
    limit: i64,
) -> Result<u64, StorageError> {
    let done = sqlx::query!(
        r#"
        with matching as (
            select id, channel, event_id, merchant_id, cycle
            from delivery
            where state = 'dead' and merchant_id = $1 and channel = $2
              and split_part(split_part(split_part(url, '://', 2), '/', 1), '@', -1) = $3
              and coalesce(last_error, 'status ' || last_status, 'unknown') = $4
            order by dead_since, id
            limit $5
        )
        insert into outbox (route, body)
        select case channel when 'payout' then $7 else $6 end,
               json_build_object('v', 1, 'type', 'delivery', 'merchant_id', merchant_id, 'delivery_id', id,
                                 'event_id', event_id, 'cycle', cycle + 1, 'attempt', 1)::text
        from matching
        "#,
        group.merchant_id,
        group.channel.as_str(),
        group.host,
        group.cause,
        limit,
        routes.ipn,
        routes.payout
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}
