//! Deliveries of a burst that wait for places, with no message on its way.

use uuid::Uuid;

use super::{PgConnection, StorageError};

/// A delivery that waits for others of its merchant.
#[derive(Debug, Clone, Copy)]
pub struct Deferred {
    pub delivery_id: Uuid,
    pub merchant_id: Uuid,
    /// A stranger chose the receiver.
    pub is_strangers: bool,
    /// Where its message goes when there are places again.
    pub route: &'static str,
    /// The attempt that its message asked for.
    pub cycle: i32,
    pub attempt: i16,
}

/// Defers deliveries, in one statement. One that is deferred already stays, from now on under the
/// route given here; of two attempts the later one counts.
pub async fn defer(
    connection: &mut PgConnection,
    deferred: &[Deferred],
) -> Result<(), StorageError> {
    let ids: Vec<_> = deferred.iter().map(|one| one.delivery_id).collect();
    let merchants: Vec<_> = deferred.iter().map(|one| one.merchant_id).collect();
    let strangers: Vec<_> = deferred.iter().map(|one| one.is_strangers).collect();
    let routes: Vec<_> = deferred.iter().map(|one| one.route.to_owned()).collect();
    let cycles: Vec<_> = deferred.iter().map(|one| one.cycle).collect();
    let attempts: Vec<_> = deferred.iter().map(|one| one.attempt).collect();
    sqlx::query!(
        r#"
        insert into deferred_delivery as known (delivery_id, merchant_id, is_strangers, route, cycle, attempt)
        select distinct on (id) id, merchant_id, is_strangers, route, cycle, attempt
        from unnest($1::uuid[], $2::uuid[], $3::boolean[], $4::text[], $5::int[], $6::smallint[])
             as f (id, merchant_id, is_strangers, route, cycle, attempt)
        order by id, cycle desc, attempt desc
        on conflict (delivery_id) do update
        set route = excluded.route, cycle = excluded.cycle, attempt = excluded.attempt, deferred_at = now()
        where (excluded.cycle, excluded.attempt) >= (known.cycle, known.attempt)
        "#,
        &ids,
        &merchants,
        &strangers,
        &routes,
        &cycles,
        &attempts
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Queues messages for the first `limit` deferred deliveries of a merchant, in the order in which
/// they were created; returns how many are deferred no longer. Index:
/// `deferred_delivery_by_merchant`.
///
/// It waits for a process that resumes the same ones: skipped, they would look like none. Their due
/// time is now: otherwise those that waited long would count as lost at once.
pub async fn resume(
    connection: &mut PgConnection,
    (merchant_id, is_strangers): (Uuid, bool),
    route: &str,
    limit: i64,
) -> Result<i64, StorageError> {
    let taken = sqlx::query_scalar!(
        r#"
        with chosen as (
            select delivery_id
            from deferred_delivery
            where merchant_id = $1 and is_strangers = $2 and route = $3
            order by delivery_id
            limit $4
            for update
        ),
        taken as (
            delete from deferred_delivery f
            using chosen c
            where f.delivery_id = c.delivery_id
            returning f.delivery_id, f.cycle, f.attempt
        ),
        due as (
            update delivery d
            set next_attempt_at = now()
            from taken t
            where d.id = t.delivery_id and d.state in ('pending', 'retry_wait')
        ),
        queued as (
            insert into outbox (route, body)
            select $3, json_build_object('v', 1, 'type', 'delivery', 'merchant_id', $1::uuid, 'delivery_id', d.id,
                                         'event_id', d.event_id, 'cycle', t.cycle, 'attempt', t.attempt)::text
            from taken t
            join delivery d on d.id = t.delivery_id
            order by d.id
        )
        select count(*) as "count!" from taken
        "#,
        merchant_id,
        is_strangers,
        route,
        limit
    )
    .fetch_one(connection)
    .await?;
    Ok(taken)
}

/// Does the same for those that have been deferred for more than ten minutes, of all merchants: a
/// time in which every process could have been started again. What is not lost but waits for a slow
/// receiver is deferred once more. Index: `deferred_delivery_by_time`.
pub async fn resume_forgotten(
    connection: &mut PgConnection,
    limit: i64,
) -> Result<u64, StorageError> {
    let resumed = sqlx::query!(
        r#"
        with chosen as (
            select delivery_id
            from deferred_delivery
            where deferred_at < now() - interval '10 minutes'
            order by deferred_at
            limit $1
            for update skip locked
        ),
        taken as (
            delete from deferred_delivery f
            using chosen c
            where f.delivery_id = c.delivery_id
            returning f.delivery_id, f.merchant_id, f.route, f.cycle, f.attempt
        ),
        due as (
            update delivery d
            set next_attempt_at = now()
            from taken t
            where d.id = t.delivery_id and d.state in ('pending', 'retry_wait')
        )
        insert into outbox (route, body)
        select t.route, json_build_object('v', 1, 'type', 'delivery', 'merchant_id', t.merchant_id, 'delivery_id', d.id,
                                          'event_id', d.event_id, 'cycle', t.cycle, 'attempt', t.attempt)::text
        from taken t
        join delivery d on d.id = t.delivery_id
        order by d.id
        "#,
        limit
    )
    .execute(connection)
    .await?;
    Ok(resumed.rows_affected())
}
