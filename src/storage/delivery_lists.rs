//! Deliveries in lists: a merchant's, page by page, and the newest of all merchants.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{
    PgConnection, StorageError,
    deliveries::{DeliveryRow, delivery_rows},
    events::resend_many::Selection,
};
use crate::webhook::retry::DeliveryState;

/// Deliveries that one page looks at in search of those that match.
pub const LOOKED_AT: i64 = 2_000;

/// The deliveries that a merchant's list shows.
#[derive(Debug, Clone, Copy, Default)]
pub struct Listed {
    pub state: Option<DeliveryState>,
    /// As the delivery names its event.
    pub kind: Option<&'static str>,
}

/// Query for a page of those deliveries that match, among the newest that the inner query finds.
macro_rules! listed_deliveries {
    ($states:tt, $($argument:expr),+ $(,)?) => {
        delivery_rows!(
            "join (
                 select looked.id
                 from (
                     select id, kind, state, created_at
                     from delivery
                     where merchant_id = $1 and created_at <= $2 and (created_at, id) < ($2, $3)
                       " + $states + "
                     order by created_at desc, id desc
                     limit 2000
                 ) as looked
                 where ($4::text is null or looked.state = $4) and ($5::text is null or looked.kind = $5)
                 order by looked.created_at desc, looked.id desc
                 limit 26
             ) as page on page.id = d.id
             order by d.created_at desc, d.id desc
             limit $6",
            $($argument),+
        )
    };
}

/// Up to `limit` of a merchant's deliveries before a place that match, at most 26, the newest
/// first, among the next [`LOOKED_AT`]. Indices: `delivery_by_merchant`,
/// `delivery_failed_by_merchant`, `delivery_open_by_merchant`.
pub async fn of_merchant(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    listed: Listed,
    (before, id): (DateTime<Utc>, Uuid),
    limit: i64,
) -> Result<Vec<DeliveryRow>, StorageError> {
    let state = listed.state.map(DeliveryState::as_str);
    let rows = match listed.state {
        Some(DeliveryState::Dropped | DeliveryState::Dead) => {
            listed_deliveries!(
                "and state in ('dropped', 'dead')",
                merchant_id,
                before,
                id,
                state,
                listed.kind,
                limit
            )
            .fetch_all(connection)
            .await?
        }
        Some(DeliveryState::Pending | DeliveryState::RetryWait) => {
            listed_deliveries!(
                "and state in ('pending', 'retry_wait')",
                merchant_id,
                before,
                id,
                state,
                listed.kind,
                limit
            )
            .fetch_all(connection)
            .await?
        }
        Some(DeliveryState::Delivered) | None => {
            listed_deliveries!("", merchant_id, before, id, state, listed.kind, limit)
                .fetch_all(connection)
                .await?
        }
    };
    Ok(rows)
}

/// Deliveries that a list of all merchants looks at in search of those that match.
pub const NEWEST_LOOKED_AT: i64 = 20_000;

/// Up to `limit` deliveries of all merchants that match, the newest first, among the newest
/// [`NEWEST_LOOKED_AT`]. Index: `delivery_pkey`, whose ids are in the order of creation.
pub async fn newest(
    connection: &mut PgConnection,
    state: Option<DeliveryState>,
    since: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<DeliveryRow>, StorageError> {
    let rows = delivery_rows!(
        "join (
             select looked.id
             from (select id, state, created_at from delivery order by id desc limit 20000) as looked
             where ($1::text is null or looked.state = $1) and looked.created_at >= $2
             order by looked.id desc
             limit $3
         ) as page on page.id = d.id
         order by d.id desc",
        state.map(DeliveryState::as_str),
        since,
        limit
    );
    Ok(rows.fetch_all(connection).await?)
}

/// The time of the last delivery that [`newest`] looks at; `None` if it sees all. Index:
/// `delivery_pkey`.
pub async fn newest_looked_at(
    connection: &mut PgConnection,
) -> Result<Option<DateTime<Utc>>, StorageError> {
    let row = sqlx::query!("select created_at from delivery order by id desc limit 1 offset 19999")
        .fetch_optional(connection)
        .await?;
    Ok(row.map(|row| row.created_at))
}

struct Place {
    created_at: DateTime<Utc>,
    id: Uuid,
}

/// Query for the last delivery that a page looks at.
macro_rules! last_looked_at {
    ($states:tt, $($argument:expr),+ $(,)?) => {
        sqlx::query_as!(
            Place,
            r#"
            select created_at, id
            from delivery
            where merchant_id = $1 and created_at <= $2 and (created_at, id) < ($2, $3)
              "# + $states + r#"
            order by created_at desc, id desc
            limit 1 offset 1999
            "#,
            $($argument),+
        )
    };
}

/// The place behind the deliveries that [`of_merchant`] looks at; `None` if it sees all that are
/// left.
pub async fn looked_at(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    listed: Listed,
    (before, id): (DateTime<Utc>, Uuid),
) -> Result<Option<(DateTime<Utc>, Uuid)>, StorageError> {
    let place = match listed.state {
        Some(DeliveryState::Dropped | DeliveryState::Dead) => {
            last_looked_at!("and state in ('dropped', 'dead')", merchant_id, before, id)
                .fetch_optional(connection)
                .await?
        }
        Some(DeliveryState::Pending | DeliveryState::RetryWait) => {
            last_looked_at!("and state in ('pending', 'retry_wait')", merchant_id, before, id)
                .fetch_optional(connection)
                .await?
        }
        Some(DeliveryState::Delivered) | None => {
            last_looked_at!("", merchant_id, before, id).fetch_optional(connection).await?
        }
    };
    Ok(place.map(|place| (place.created_at, place.id)))
}

/// The last attempt of a delivery.
#[derive(Debug, Clone)]
pub struct LastAttempt {
    pub delivery_id: Uuid,
    pub started_at: DateTime<Utc>,
    pub duration_ms: i32,
    pub excerpt: Option<String>,
}

/// The last attempts of some deliveries; those without any are left out. Index:
/// `delivery_attempt_pkey`.
async fn last_attempts(
    connection: &mut PgConnection,
    deliveries: &[Uuid],
) -> Result<Vec<LastAttempt>, StorageError> {
    let rows = sqlx::query_as!(
        LastAttempt,
        r#"
        select a.delivery_id, a.started_at, a.duration_ms, a.excerpt
        from unnest($1::uuid[]) as wanted, lateral (
            select delivery_id, started_at, duration_ms, excerpt
            from delivery_attempt
            where delivery_id = wanted
            order by cycle desc, attempt desc
            limit 1
        ) as a
        "#,
        deliveries
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Deliveries with their last attempts.
pub async fn with_last_attempts(
    connection: &mut PgConnection,
    rows: Vec<DeliveryRow>,
) -> Result<Vec<(DeliveryRow, Option<LastAttempt>)>, StorageError> {
    let ids: Vec<_> = rows.iter().map(|row| row.id).collect();
    let last = last_attempts(connection, &ids).await?;
    let mut last: HashMap<_, _> = last.into_iter().map(|of| (of.delivery_id, of)).collect();
    let rows = rows.into_iter().map(|row| (last.remove(&row.id), row));
    Ok(rows.map(|(last, row)| (row, last)).collect())
}

/// Number of deliveries that ended and match, as sending them again would find them, up to `most`.
/// Indices: `delivery_failed_by_merchant`, `delivery_by_merchant`.
pub async fn count_ended(
    connection: &mut PgConnection,
    selection: &Selection,
    most: i64,
) -> Result<i64, StorageError> {
    let taken = selection.state == Some(DeliveryState::Delivered);
    let state = selection.state.map(DeliveryState::as_str);
    let count = if taken {
        sqlx::query_scalar!(
            r#"
            select count(*) as "count!"
            from (
                select from delivery d
                where merchant_id = $1 and state = 'delivered' and created_at >= $2
                  and ($3::timestamptz is null or created_at < $3) and ($4::text is null or kind = $4)
                  and exists (select from event e where e.event_id = d.event_id)
                limit $5
            ) as matching
            "#,
            selection.merchant_id,
            selection.behind.created_at,
            selection.before,
            selection.kind,
            most
        )
        .fetch_one(connection)
        .await?
    } else {
        sqlx::query_scalar!(
            r#"
            select count(*) as "count!"
            from (
                select from delivery d
                where merchant_id = $1 and state in ('dropped', 'dead') and created_at >= $2
                  and ($3::timestamptz is null or created_at < $3) and ($4::text is null or kind = $4)
                  and ($6::text is null or state = $6)
                  and exists (select from event e where e.event_id = d.event_id)
                limit $5
            ) as matching
            "#,
            selection.merchant_id,
            selection.behind.created_at,
            selection.before,
            selection.kind,
            most,
            state
        )
        .fetch_one(connection)
        .await?
    };
    Ok(count)
}
