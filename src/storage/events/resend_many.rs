//! Sending again the events of a merchant that match, a bounded number at a time.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::{
    storage::{PgConnection, StorageError, deliveries::ChannelRoutes},
    webhook::retry::DeliveryState,
};

/// A place among a merchant's deliveries, which are in the order of their creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub created_at: DateTime<Utc>,
    /// Nil for a place before all deliveries of this moment.
    pub delivery_id: Uuid,
}

/// Deliveries to send again.
#[derive(Debug, Clone, Copy)]
pub struct Selection {
    pub merchant_id: Uuid,
    pub behind: Place,
    pub before: Option<DateTime<Utc>>,
    /// As the delivery names its event.
    pub kind: Option<&'static str>,
    /// The state in which they ended. `None`: all that failed.
    pub state: Option<DeliveryState>,
}

/// Outcome of one call.
#[derive(Debug, Default)]
pub struct Restarted {
    /// Events of the deliveries that were started, oldest first.
    pub event_ids: Vec<String>,
    /// Event of the last delivery that was looked at.
    pub last: Option<String>,
    /// There are more behind `last`.
    pub has_more: bool,
}

/// Place of an event, with a webhook or without; `None` if the merchant has none with this id.
/// Events are forgotten sooner than deliveries, so both are asked.
pub async fn place_of(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    event_id: &str,
) -> Result<Option<Place>, StorageError> {
    let place = sqlx::query_as!(
        Place,
        r#"
        select created_at as "created_at!", id as "delivery_id!"
        from (
            select created_at, id from delivery where event_id = $2 and merchant_id = $1
            union all
            select created_at, '00000000-0000-0000-0000-000000000000'
            from event where event_id = $2 and merchant_id = $1
        ) as known
        order by id desc
        limit 1
        "#,
        merchant_id,
        event_id
    )
    .fetch_optional(connection)
    .await?;
    Ok(place)
}

struct RawRestarted {
    event_ids: Vec<String>,
    last: Option<String>,
    has_more: bool,
}

/// Query that restarts a page of 100 deliveries among those whose states it is given.
///
/// A row that is locked is just being started by another call, or by an operator: it is passed over
/// instead of waited for, which also keeps two calls from waiting for each other.
macro_rules! restart_page {
    ($states:tt, $selection:expr, $routes:expr) => {
        sqlx::query_as!(
            RawRestarted,
            r#"
            with page as materialized (
                select id, event_id, kind, state, created_at
                from delivery
                where merchant_id = $1 and state in "# + $states + r#" and (created_at, id) > ($2, $3)
                  and ($4::timestamptz is null or created_at < $4)
                order by created_at, id
                limit 100
                for no key update skip locked
            ),
            last as (select id, event_id, created_at from page order by created_at desc, id desc limit 1),
            again as (
                update delivery d
                set state = 'pending', cycle = cycle + 1, attempts = 0, next_attempt_at = now(), dead_since = null,
                    updated_at = now()
                from page
                where d.id = page.id and ($5::text is null or page.kind = $5) and ($6::text is null or page.state = $6)
                  and exists (select from event e where e.event_id = page.event_id)
                returning d.id, d.channel, d.event_id, d.merchant_id, d.cycle, d.created_at
            ),
            queued as (
                insert into outbox (route, body)
                select case channel when 'payout' then $8 else $7 end,
                       json_build_object('v', 1, 'type', 'delivery', 'merchant_id', merchant_id, 'delivery_id', id,
                                         'event_id', event_id, 'cycle', cycle, 'attempt', 1)::text
                from again
                order by created_at, id
            )
            select array(select event_id from again order by created_at, id) as "event_ids!",
                   (select event_id from last) as last,
                   exists (
                       select from last, delivery d
                       where d.merchant_id = $1 and d.state in "# + $states + r#"
                         and (d.created_at, d.id) > (last.created_at, last.id)
                         and ($4::timestamptz is null or d.created_at < $4)
                   ) as "has_more!"
            "#,
            $selection.merchant_id,
            $selection.behind.created_at,
            $selection.behind.delivery_id,
            $selection.before,
            $selection.kind,
            $selection.state.map(DeliveryState::as_str),
            $routes.ipn,
            $routes.payout
        )
    };
}

/// Starts a fresh cycle of the next 100 deliveries that have ended, of those that match, and
/// queues their first messages. Deliveries under way are left as they are. Indexes:
/// `delivery_failed_by_merchant`, `delivery_by_merchant`.
pub async fn restart(
    connection: &mut PgConnection,
    routes: ChannelRoutes<'_>,
    selection: &Selection,
) -> Result<Restarted, StorageError> {
    let raw = match selection.state {
        Some(DeliveryState::Delivered) => {
            restart_page!("('delivered')", selection, routes).fetch_one(connection).await?
        }
        Some(DeliveryState::Pending | DeliveryState::RetryWait) => return Ok(Restarted::default()),
        Some(DeliveryState::Dropped | DeliveryState::Dead) | None => {
            restart_page!("('dropped', 'dead')", selection, routes).fetch_one(connection).await?
        }
    };
    let RawRestarted { event_ids, last, has_more } = raw;
    Ok(Restarted { event_ids, last, has_more })
}
