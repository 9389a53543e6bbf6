//! Events of an order: deliveries of the second webhook channel, sent one after the other.

use uuid::Uuid;

use crate::{
    payout::EventType,
    storage::{
        PgConnection, StorageError,
        deliveries::{DeliveryRow, delivery_rows},
    },
    webhook::event::EventKind,
};

/// An event of a payout order, written in the transaction of the change that caused it.
#[derive(Debug, Clone)]
pub struct NewPayoutEvent {
    pub id: Uuid,
    pub event_id: String,
    pub kind: EventType,
    pub merchant_id: Uuid,
    pub payout_order_id: Uuid,
    /// The public id of the order.
    pub order_id: String,
    /// The batch, deposit or quote that it concerns; nil for events that happen once.
    pub subject: Uuid,
    /// `None` where nobody is to be told.
    pub url: Option<String>,
    pub payload: String,
}

/// Writes an event, with its delivery if it has an address. Without effect if this order already
/// has it. Returns whether there is a new delivery to start.
pub async fn insert_payout_event(
    connection: &mut PgConnection,
    new: &NewPayoutEvent,
) -> Result<bool, StorageError> {
    let made = sqlx::query_scalar!(
        r#"
        with made as (
            insert into delivery (id, event_id, channel, kind, merchant_id, payout_order_id, subject, url, payload,
                state, next_attempt_at, created_at)
            select $1::uuid, $2::text, 'payout', $3::text, $4::uuid, $5::uuid, $6::uuid, $7::text, $8::text, 'pending',
                   now(), clock_timestamp()
            where $7 is not null
            on conflict (payout_order_id, kind, subject) do nothing
            returning id
        ),
        told as (
            insert into event (event_id, merchant_id, type, resource_id, subject, delivery_id, payload)
            select $2, $4, $3, $9::text, $6, (select id from made), case when $7 is null then $8 end
            where $7 is null or exists(select from made)
            on conflict (resource_id, type, subject) where subject is not null do nothing
        )
        select exists(select from made) as "made!"
        "#,
        new.id,
        new.event_id,
        EventKind::from(new.kind).as_str(),
        new.merchant_id,
        new.payout_order_id,
        new.subject,
        new.url,
        new.payload,
        new.order_id
    )
    .fetch_one(connection)
    .await?;
    Ok(made)
}

/// Events of a payout order in the order of their delivery.
pub async fn of_payout(
    connection: &mut PgConnection,
    payout_order_id: Uuid,
) -> Result<Vec<DeliveryRow>, StorageError> {
    let rows = delivery_rows!(
        "where d.payout_order_id = $1 order by d.created_at, d.id limit 1000",
        payout_order_id
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// The newest webhooks of a payout order, at most `limit`. Index: `delivery_by_payout`.
pub async fn newest_of_payout(
    connection: &mut PgConnection,
    payout_order_id: Uuid,
    limit: i64,
) -> Result<Vec<DeliveryRow>, StorageError> {
    let rows = delivery_rows!(
        "where d.payout_order_id = $1 order by d.id desc limit $2",
        payout_order_id,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Queues the next event of the payout order of a delivery, once this delivery has ended.
///
/// It is not part of the statement that ends the delivery: the sweep detects a message lost here.
pub async fn queue_following(
    connection: &mut PgConnection,
    ended: Uuid,
    route: &str,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        insert into outbox (route, body)
        select $2, json_build_object('v', 1, 'type', 'delivery', 'merchant_id', n.merchant_id, 'delivery_id', n.id,
                                     'event_id', n.event_id, 'cycle', n.cycle, 'attempt', n.attempts + 1)::text
        from delivery d
        join delivery n on n.payout_order_id = d.payout_order_id
        where d.id = $1 and n.state in ('pending', 'retry_wait')
        order by n.created_at, n.id
        limit 1
        "#,
        ended,
        route
    )
    .execute(connection)
    .await?;
    Ok(())
}
