//! Presses of "send again": the deliveries that each queued, and their outcome.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::dead_letters::DeadGroupKey;
use crate::{
    storage::{
        PgConnection, StorageError,
        deliveries::{ChannelRoutes, DeliveryRow, delivery_rows},
    },
    webhook::Channel,
};

/// A press with the outcome of its deliveries so far.
#[derive(Debug, Clone)]
pub struct RequeueRun {
    pub id: Uuid,
    pub asked_by: String,
    pub subject: String,
    pub asked_at: DateTime<Utc>,
    pub queued: i64,
    pub delivered: i64,
    /// Given up again, or refused for good, in the cycle of this press or a later one.
    pub failed: i64,
}

impl RequeueRun {
    /// Deliveries that have yet to be attempted, or wait for their next attempt.
    pub const fn waiting(&self) -> i64 {
        self.queued - self.delivered - self.failed
    }
}

/// Stores a press before its first batch. `false` if the id is taken: the form was sent twice.
pub async fn begin(
    connection: &mut PgConnection,
    id: Uuid,
    (by, subject): (&str, &str),
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        "insert into requeue_run (id, asked_by, subject) values ($1, $2, $3) on conflict (id) do nothing",
        id,
        by,
        subject
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// The last delivery of a batch, in the order in which batches walk, and the size of the batch.
#[derive(Debug, Clone, Copy)]
pub struct Batch {
    pub queued: i64,
    pub last: Option<(DateTime<Utc>, Uuid)>,
}

/// Queues a fresh cycle for the next dead letters of a group after a place, the longest dead first,
/// and notes them as the run's.
pub async fn queue_batch(
    connection: &mut PgConnection,
    run_id: Uuid,
    routes: ChannelRoutes<'_>,
    key: &DeadGroupKey,
    after: Option<(DateTime<Utc>, Uuid)>,
    limit: i64,
) -> Result<Batch, StorageError> {
    let (after_at, after_id) = after.unzip();
    let row = sqlx::query!(
        r#"
        with matching as (
            select id, channel, event_id, merchant_id, cycle, dead_since
            from delivery
            where state = 'dead' and dead_since is not null
              and ($2::uuid is null or merchant_id = $2) and ($3::text is null or channel = $3)
              and ($4::text is null or split_part(split_part(split_part(url, '://', 2), '/', 1), '@', -1) = $4)
              and ($5::text is null or coalesce(last_error, 'status ' || last_status, 'unknown') = $5)
              and ($6::timestamptz is null or dead_since >= $6) and ($7::timestamptz is null or dead_since < $7)
              and ($8::timestamptz is null or (dead_since, id) > ($8, $9))
            order by dead_since, id
            limit $10
        ),
        noted as (
            insert into requeue_run_item (run_id, delivery_id, cycle)
            select $1, id, cycle + 1 from matching
            on conflict do nothing
        ),
        queued as (
            insert into outbox (route, body)
            select case channel when 'payout' then $12 else $11 end,
                   json_build_object('v', 1, 'type', 'delivery', 'merchant_id', merchant_id, 'delivery_id', id,
                                     'event_id', event_id, 'cycle', cycle + 1, 'attempt', 1)::text
            from matching
        ),
        last as (select dead_since, id from matching order by dead_since desc, id desc limit 1)
        select (select count(*) from matching) as "queued!", (select dead_since from last) as last_at,
               (select id from last) as last_id
        "#,
        run_id,
        key.merchant_id,
        key.channel.map(Channel::as_str),
        key.host,
        key.cause,
        key.since,
        key.until,
        after_at,
        after_id,
        limit,
        routes.ipn,
        routes.payout
    )
    .fetch_one(connection)
    .await?;
    Ok(Batch { queued: row.queued, last: row.last_at.zip(row.last_id) })
}

/// A press and its outcome, counted from the deliveries' rows.
pub async fn by_id(
    connection: &mut PgConnection,
    id: Uuid,
) -> Result<Option<RequeueRun>, StorageError> {
    let row = sqlx::query_as!(
        RequeueRun,
        r#"
        select r.id, r.asked_by, r.subject, r.asked_at, o.queued as "queued!", o.delivered as "delivered!",
               o.failed as "failed!"
        from requeue_run r
        cross join lateral (
            select count(*) as queued,
                   count(*) filter (where d.state = 'delivered') as delivered,
                   count(*) filter (where d.state in ('dead', 'dropped') and d.cycle >= i.cycle) as failed
            from requeue_run_item i
            join delivery d on d.id = i.delivery_id
            where i.run_id = r.id
        ) o
        where r.id = $1
        "#,
        id
    )
    .fetch_optional(connection)
    .await?;
    Ok(row)
}

/// The newest presses with their outcomes.
pub async fn newest(
    connection: &mut PgConnection,
    limit: i64,
) -> Result<Vec<RequeueRun>, StorageError> {
    let rows = sqlx::query_as!(
        RequeueRun,
        r#"
        select r.id, r.asked_by, r.subject, r.asked_at, o.queued as "queued!", o.delivered as "delivered!",
               o.failed as "failed!"
        from (select id, asked_by, subject, asked_at from requeue_run order by asked_at desc, id desc limit $1) r
        cross join lateral (
            select count(*) as queued,
                   count(*) filter (where d.state = 'delivered') as delivered,
                   count(*) filter (where d.state in ('dead', 'dropped') and d.cycle >= i.cycle) as failed
            from requeue_run_item i
            join delivery d on d.id = i.delivery_id
            where i.run_id = r.id
        ) o
        order by r.asked_at desc, r.id desc
        "#,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Deliveries of a press that failed again, the first ones.
pub async fn failed(
    connection: &mut PgConnection,
    id: Uuid,
    limit: i64,
) -> Result<Vec<DeliveryRow>, StorageError> {
    let rows = delivery_rows!(
        "join requeue_run_item r on r.delivery_id = d.id
         where r.run_id = $1 and d.state in ('dead', 'dropped') and d.cycle >= r.cycle
         order by d.created_at, d.id
         limit $2",
        id,
        limit
    );
    Ok(rows.fetch_all(connection).await?)
}

/// Deletes presses of more than 90 days ago.
pub async fn forget(connection: &mut PgConnection) -> Result<(), StorageError> {
    sqlx::query!(
        "delete from requeue_run_item
         where run_id in (select id from requeue_run where asked_at < now() - interval '90 days')"
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query!("delete from requeue_run where asked_at < now() - interval '90 days'")
        .execute(connection)
        .await?;
    Ok(())
}
