//! The receivers of a merchant's webhooks, as the last attempts found them.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{PgConnection, StorageError};

/// Attempts to one host among a merchant's newest deliveries.
#[derive(Debug, Clone)]
pub struct EndpointRow {
    /// Host and port; the path may hold a token.
    pub host: String,
    pub attempts: i64,
    /// Answered with 2xx.
    pub taken: i64,
    pub median_ms: i32,
    pub last_at: DateTime<Utc>,
    /// Of the last attempt that was not taken.
    pub last_error: Option<String>,
    pub failed_at: Option<DateTime<Utc>>,
}

/// Milliseconds from an event to the end of the attempt that was taken.
#[derive(Debug, Clone, Copy)]
pub struct Latency {
    pub median_ms: i64,
    /// Of the slowest twentieth, the fastest.
    pub p95_ms: i64,
    pub deliveries: i64,
}

/// Hosts of a merchant's newest 200 deliveries, the one used last first; the last five attempts of
/// each delivery count. Indices: `delivery_by_merchant`, `delivery_attempt_pkey`.
pub async fn health(
    connection: &mut PgConnection,
    merchant_id: Uuid,
) -> Result<Vec<EndpointRow>, StorageError> {
    let rows = sqlx::query_as!(
        EndpointRow,
        r#"
        with newest as materialized (
            select id, url
            from delivery
            where merchant_id = $1
            order by created_at desc
            limit 200
        ),
        tried as (
            select split_part(split_part(split_part(newest.url, '://', 2), '/', 1), '@', -1) as host, a.started_at,
                   a.duration_ms, coalesce(a.status between 200 and 299, false) as is_taken,
                   coalesce(a.error, 'status ' || a.status) as error
            from newest
            join lateral (
                select started_at, duration_ms, status, error
                from delivery_attempt
                where delivery_id = newest.id
                order by cycle desc, attempt desc
                limit 5
            ) a on true
        )
        select host as "host!", count(*) as "attempts!", count(*) filter (where is_taken) as "taken!",
               percentile_disc(0.5) within group (order by duration_ms) as "median_ms!", max(started_at) as "last_at!",
               (array_agg(error order by started_at desc) filter (where not is_taken))[1] as last_error,
               max(started_at) filter (where not is_taken) as failed_at
        from tried
        group by host
        order by max(started_at) desc, host
        limit 20
        "#,
        merchant_id
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Times of those among a merchant's newest 200 deliveries that were taken in their first cycle;
/// `None` if there is none. Indices: `delivery_by_merchant`, `delivery_attempt_pkey`.
pub async fn latency(
    connection: &mut PgConnection,
    merchant_id: Uuid,
) -> Result<Option<Latency>, StorageError> {
    let row = sqlx::query!(
        r#"
        with newest as materialized (
            select id, created_at, state, cycle, attempts
            from delivery
            where merchant_id = $1
            order by created_at desc
            limit 200
        ),
        took as (
            select greatest((extract(epoch from a.started_at - newest.created_at) * 1000)::bigint, 0) + a.duration_ms as ms
            from newest
            join delivery_attempt a on a.delivery_id = newest.id and a.cycle = 1 and a.attempt = newest.attempts
            where newest.state = 'delivered' and newest.cycle = 1
        )
        select percentile_disc(0.5) within group (order by ms) as median, percentile_disc(0.95) within group (order by ms) as p95,
               count(*) as "count!"
        from took
        "#,
        merchant_id
    )
    .fetch_one(connection)
    .await?;
    Ok(row.median.zip(row.p95).map(|(median_ms, p95_ms)| Latency {
        median_ms,
        p95_ms,
        deliveries: row.count,
    }))
}
