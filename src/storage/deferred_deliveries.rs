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
}

/// Defers deliveries, in one statement. One that is deferred already stays, from now on under the
/// route given here.
pub async fn defer(
    connection: &mut PgConnection,
    deferred: &[Deferred],
) -> Result<(), StorageError> {
    let ids: Vec<_> = deferred.iter().map(|one| one.delivery_id).collect();
    let merchants: Vec<_> = deferred.iter().map(|one| one.merchant_id).collect();
    let strangers: Vec<_> = deferred.iter().map(|one| one.is_strangers).collect();
    let routes: Vec<_> = deferred.iter().map(|one| one.route.to_owned()).collect();
    sqlx::query!(
        r#"
        insert into deferred_delivery (delivery_id, merchant_id, is_strangers, route)
        select distinct on (id) id, merchant_id, is_strangers, route
        from unnest($1::uuid[], $2::uuid[], $3::boolean[], $4::text[]) as f (id, merchant_id, is_strangers, route)
        order by id
        on conflict (delivery_id) do update set route = excluded.route, deferred_at = now()
        "#,
        &ids,
        &merchants,
        &strangers,
        &routes
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Queues messages for the first `limit` deferred deliveries of a merchant, in the order in which
/// they were created; returns how many are deferred no longer. Index:
/// `deferred_delivery_by_merchant`.
///
/// Their due time is now: otherwise those that waited long would count as lost at once.
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
            for update skip locked
        ),
        taken as (
            delete from deferred_delivery f
            using chosen c
            where f.delivery_id = c.delivery_id
            returning f.delivery_id
        ),
        due as (
            update delivery d
            set next_attempt_at = now()
            from taken t
            where d.id = t.delivery_id and d.state in ('pending', 'retry_wait')
            returning d.id, d.event_id, d.cycle, d.attempts
        ),
        queued as (
            insert into outbox (route, body)
            select $3, json_build_object('v', 1, 'type', 'delivery', 'merchant_id', $1::uuid, 'delivery_id', id,
                                         'event_id', event_id, 'cycle', cycle, 'attempt', attempts + 1)::text
            from due
            order by id
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
