//! The feed of a merchant's events, in the order of their positions.
//!
//! Positions are given by readers, one batch at a time, under the lock of the merchant's row in
//! `event_feed`: what has a position is committed, and whatever commits later comes behind it.
//! Positions that were written with the event would be in the order in which the transactions
//! began.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::{
    storage::{PgConnection, StorageError},
    webhook::{Channel, event::EventKind, retry::DeliveryState},
};

/// Positions given in one statement. It stands in the text of [`place`]: the planner would take a
/// parameter for a tenth of the table.
pub const PLACED_MAX: i64 = 1_000;

/// An event as its merchant sees it.
#[derive(Debug, Clone)]
pub struct EventRow {
    pub event_id: String,
    pub kind: EventKind,
    pub created_at: DateTime<Utc>,
    pub resource_id: String,
    /// The payment object or the payout order, as it was; JSON.
    pub payload: String,
    pub delivery: Option<EventDelivery>,
}

/// The state of an event's delivery.
#[derive(Debug, Clone)]
pub struct EventDelivery {
    pub id: Uuid,
    pub channel: Channel,
    pub url: String,
    pub state: DeliveryState,
    pub cycle: i32,
    /// Of this cycle.
    pub attempts: i16,
    pub next_attempt_at: Option<DateTime<Utc>>,
    pub last_status: Option<i16>,
    pub last_error: Option<String>,
}

struct RawEvent {
    event_id: String,
    kind: EventKind,
    created_at: DateTime<Utc>,
    resource_id: String,
    payload: String,
    id: Option<Uuid>,
    channel: Option<Channel>,
    url: Option<String>,
    state: Option<DeliveryState>,
    cycle: Option<i32>,
    attempts: Option<i16>,
    next_attempt_at: Option<DateTime<Utc>>,
    last_status: Option<i16>,
    last_error: Option<String>,
}

/// Query for events: where they are taken from, and the order and the end of the query.
///
/// Written so that no estimate can make the planner leave the index: the limit of the inner query
/// is in its text, and `offset 0` keeps the planner from joining the whole of `delivery` to a page.
macro_rules! event_rows {
    ($events:tt, $end:tt, $($argument:expr),+ $(,)?) => {
        sqlx::query_as!(
            RawEvent,
            r#"
            select e.event_id as "event_id!", e.type as "kind!: _", e.created_at as "created_at!",
                   e.resource_id as "resource_id!", coalesce(e.payload, d.payload) as "payload!", d.id as "id?",
                   d.channel as "channel?: _", d.url as "url?", d.state as "state?: _", d.cycle as "cycle?",
                   d.attempts as "attempts?", d.next_attempt_at as "next_attempt_at?", d.last_status as "last_status?",
                   d.last_error as "last_error?"
            from ("# + $events + r#") e
            left join lateral (
                select id, payload, channel, url, state, cycle, attempts, next_attempt_at, last_status, last_error
                from delivery
                where delivery.id = e.delivery_id
                offset 0
            ) d on true
            "# + $end,
            $($argument),+
        )
    };
}

/// A place in the feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Behind the event with this position; 0 is the beginning.
    After(i64),
    /// Behind an event that has no position yet.
    Unplaced,
}

/// The place of an event of this merchant; `None` if the feed has none with this id.
pub async fn place_of(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    event_id: &str,
) -> Result<Option<Place>, StorageError> {
    let row = sqlx::query!(
        "select position from event where event_id = $2 and merchant_id = $1",
        merchant_id,
        event_id
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| row.position.map_or(Place::Unplaced, Place::After)))
}

/// Up to `limit` events, at most 101, behind `position`, of one kind or of all. Indexes:
/// `event_position`, and `event_position_by_type`, to which the comparison of rows binds the query:
/// by the other one a page of a rare kind would cost the whole feed.
pub async fn page(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    position: i64,
    kind: Option<EventKind>,
    limit: i64,
) -> Result<Vec<EventRow>, StorageError> {
    let rows = match kind {
        None => {
            event_rows!(
                "select event_id, type, created_at, resource_id, payload, delivery_id, position
                 from event
                 where merchant_id = $1 and position > $2
                 order by position
                 limit 101",
                "order by e.position limit $3",
                merchant_id,
                position,
                limit
            )
            .fetch_all(connection)
            .await?
        }
        Some(kind) => {
            event_rows!(
                "select event_id, type, created_at, resource_id, payload, delivery_id, position
                 from event
                 where merchant_id = $1 and (type, position) > ($4, $2) and type <= $4 and position is not null
                 order by type, position
                 limit 101",
                "order by e.type, e.position limit $3",
                merchant_id,
                position,
                limit,
                kind.as_str()
            )
            .fetch_all(connection)
            .await?
        }
    };
    Ok(rows.into_iter().map(Into::into).collect())
}

/// One event of a merchant.
pub async fn one(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    event_id: &str,
) -> Result<Option<EventRow>, StorageError> {
    let row = event_rows!(
        "select event_id, type, created_at, resource_id, payload, delivery_id
         from event
         where event_id = $2 and merchant_id = $1",
        "",
        merchant_id,
        event_id
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(Into::into))
}

/// Returns true if an event waits for its position. Index: `event_unplaced`, to which the
/// comparison of rows binds the query; the planner would rather look for such an event in the
/// table, where most merchants have none.
pub async fn is_any_unplaced(
    connection: &mut PgConnection,
    merchant_id: Uuid,
) -> Result<bool, StorageError> {
    let oldest = sqlx::query_scalar!(
        r#"
        select event_id
        from event
        where (merchant_id, created_at, event_id) > ($1, '-infinity', '') and merchant_id <= $1 and position is null
        order by merchant_id, created_at, event_id
        limit 1
        "#,
        merchant_id
    )
    .fetch_optional(connection)
    .await?;
    Ok(oldest.is_some())
}

/// Locks the merchant's feed until the transaction ends.
///
/// A statement of its own: [`place`] must see what the holder before has committed.
pub async fn lock(connection: &mut PgConnection, merchant_id: Uuid) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        insert into event_feed (merchant_id, last_position)
        values ($1, 0)
        on conflict (merchant_id) do update set last_position = event_feed.last_position
        "#,
        merchant_id
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Gives positions to the oldest events without one, up to [`PLACED_MAX`], and returns their
/// number. The caller holds the lock of the feed. Index: `event_unplaced`.
pub async fn place(connection: &mut PgConnection, merchant_id: Uuid) -> Result<i64, StorageError> {
    let placed = sqlx::query_scalar!(
        r#"
        with oldest as materialized (
            select event_id, created_at
            from event
            where (merchant_id, created_at, event_id) > ($1, '-infinity', '') and merchant_id <= $1 and position is null
            order by merchant_id, created_at, event_id
            limit 1000
        ),
        numbered as (
            select event_id, row_number() over (order by created_at, event_id) as number from oldest
        ),
        counted as (
            update event_feed
            set last_position = last_position + (select count(*) from oldest)
            where merchant_id = $1
            returning last_position - (select count(*) from oldest) as before
        ),
        placed as (
            update event
            set position = counted.before + numbered.number
            from numbered, counted
            where event.event_id = numbered.event_id
        )
        select count(*) as "placed!" from oldest
        "#,
        merchant_id
    )
    .fetch_one(connection)
    .await?;
    Ok(placed)
}

impl From<RawEvent> for EventRow {
    fn from(raw: RawEvent) -> Self {
        let delivery = raw.delivery();
        Self {
            event_id: raw.event_id,
            kind: raw.kind,
            created_at: raw.created_at,
            resource_id: raw.resource_id,
            payload: raw.payload,
            delivery,
        }
    }
}

impl RawEvent {
    /// The columns of `delivery`, which are null together.
    fn delivery(&self) -> Option<EventDelivery> {
        Some(EventDelivery {
            id: self.id?,
            channel: self.channel?,
            url: self.url.clone()?,
            state: self.state?,
            cycle: self.cycle?,
            attempts: self.attempts?,
            next_attempt_at: self.next_attempt_at,
            last_status: self.last_status,
            last_error: self.last_error.clone(),
        })
    }
}
