//! Dead letters in groups of one cause, one receiver or one day.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::{
    storage::{
        PgConnection, StorageError,
        deliveries::{DeliveryRow, delivery_rows},
    },
    webhook::Channel,
};

/// The properties by which dead letters are put together. Channels are never mixed: each has its
/// own queue.
#[derive(Debug, Clone, Copy)]
pub struct Grouping {
    pub by_cause: bool,
    pub by_receiver: bool,
    pub by_day: bool,
}

/// The criteria of a group; an empty one matches everything.
#[derive(Debug, Clone, Default)]
pub struct DeadGroupKey {
    pub merchant_id: Option<Uuid>,
    pub channel: Option<Channel>,
    /// Host and port of the receiver; its path may hold a token.
    pub host: Option<String>,
    pub cause: Option<String>,
    /// Dead from then on.
    pub since: Option<DateTime<Utc>>,
    /// Dead before then.
    pub until: Option<DateTime<Utc>>,
}

/// A group with its size.
#[derive(Debug, Clone)]
pub struct DeadGroup {
    pub channel: Channel,
    pub merchant_id: Option<Uuid>,
    pub merchant_name: Option<String>,
    pub host: Option<String>,
    pub cause: Option<String>,
    pub day: Option<DateTime<Utc>>,
    pub count: i64,
    /// Queued within a quarter of an hour, and not attempted since.
    pub on_the_way: i64,
    pub oldest: DateTime<Utc>,
    pub newest: DateTime<Utc>,
}

/// The largest groups of the dead letters that match `key`. Index: `delivery_dead`.
pub async fn groups(
    connection: &mut PgConnection,
    grouping: Grouping,
    key: &DeadGroupKey,
    limit: i64,
) -> Result<Vec<DeadGroup>, StorageError> {
    let rows = sqlx::query_as!(
        DeadGroup,
        r#"
        with dead as (
            select d.id, d.channel, d.cycle, d.dead_since,
                   case when $2 then d.merchant_id end as merchant_id,
                   case when $2 then split_part(split_part(split_part(d.url, '://', 2), '/', 1), '@', -1) end as host,
                   case when $1 then coalesce(d.last_error, 'status ' || d.last_status, 'unknown') end as cause,
                   case when $3 then date_trunc('day', d.dead_since) end as day
            from delivery d
            where d.state = 'dead' and d.dead_since is not null
              and ($4::timestamptz is null or d.dead_since >= $4)
              and ($5::uuid is null or d.merchant_id = $5)
        )
        select g.channel as "channel!: _", g.merchant_id as "merchant_id?", m.name as "merchant_name?", g.host as "host?",
               g.cause as "cause?", g.day as "day?", g.count as "count!", g.on_the_way as "on_the_way!",
               g.oldest as "oldest!", g.newest as "newest!"
        from (
            select dead.channel, dead.merchant_id, dead.host, dead.cause, dead.day, count(*) as count,
                   count(*) filter (where exists (
                       select from requeue_run_item i
                       join requeue_run r on r.id = i.run_id
                       where i.delivery_id = dead.id and i.cycle > dead.cycle
                         and r.asked_at > now() - interval '15 minutes'
                   )) as on_the_way,
                   min(dead.dead_since) as oldest, max(dead.dead_since) as newest
            from dead
            group by 1, 2, 3, 4, 5
            order by count(*) desc, min(dead.dead_since)
            limit $6
        ) g
        left join merchant m on m.id = g.merchant_id
        order by g.count desc, g.oldest, g.cause, g.host
        "#,
        grouping.by_cause,
        grouping.by_receiver,
        grouping.by_day,
        key.since,
        key.merchant_id,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// The first rows of a group, the longest dead first, and the size of the whole group.
pub async fn preview(
    connection: &mut PgConnection,
    key: &DeadGroupKey,
    limit: i64,
) -> Result<(i64, Vec<DeliveryRow>), StorageError> {
    let count = sqlx::query_scalar!(
        r#"
        select count(*) as "count!"
        from delivery d
        where d.state = 'dead' and d.dead_since is not null
          and ($1::uuid is null or d.merchant_id = $1) and ($2::text is null or d.channel = $2)
          and ($3::text is null or split_part(split_part(split_part(d.url, '://', 2), '/', 1), '@', -1) = $3)
          and ($4::text is null or coalesce(d.last_error, 'status ' || d.last_status, 'unknown') = $4)
          and ($5::timestamptz is null or d.dead_since >= $5) and ($6::timestamptz is null or d.dead_since < $6)
        "#,
        key.merchant_id,
        key.channel.map(Channel::as_str),
        key.host,
        key.cause,
        key.since,
        key.until
    )
    .fetch_one(&mut *connection)
    .await?;
    let rows = delivery_rows!(
        "where d.state = 'dead' and d.dead_since is not null
           and ($1::uuid is null or d.merchant_id = $1) and ($2::text is null or d.channel = $2)
           and ($3::text is null or split_part(split_part(split_part(d.url, '://', 2), '/', 1), '@', -1) = $3)
           and ($4::text is null or coalesce(d.last_error, 'status ' || d.last_status, 'unknown') = $4)
           and ($5::timestamptz is null or d.dead_since >= $5) and ($6::timestamptz is null or d.dead_since < $6)
         order by d.dead_since, d.id
         limit $7",
        key.merchant_id,
        key.channel.map(Channel::as_str),
        key.host,
        key.cause,
        key.since,
        key.until,
        limit
    );
    Ok((count, rows.fetch_all(connection).await?))
}
