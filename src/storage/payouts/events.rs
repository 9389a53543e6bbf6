//! Events of an order: deliveries of the second webhook channel, sent one after the other.

use uuid::Uuid;

use crate::{
    payout::EventType,
    storage::{
        PgConnection, StorageError,
        deliveries::{DeliveryRow, delivery_rows},
    },
};

/// An event of a payout order, written in the transaction of the change that caused it.
#[derive(Debug, Clone)]
pub struct NewPayoutEvent {
    pub id: Uuid,
    pub event_id: String,
    pub kind: EventType,
    pub merchant_id: Uuid,
    pub payout_order_id: Uuid,
    /// The batch, deposit or quote that it concerns; nil for events that happen once.
    pub subject: Uuid,
    pub url: String,
    pub payload: String,
}

/// Writes an event. `false`, and no effect, if this order already has it.
pub async fn insert_payout_event(
    connection: &mut PgConnection,
    new: &NewPayoutEvent,
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        r#"
        insert into delivery (id, event_id, channel, kind, merchant_id, payout_order_id, subject, url, payload, state,
            next_attempt_at, created_at)
        values ($1, $2, 'payout', $3, $4, $5, $6, $7, $8, 'pending', now(), clock_timestamp())
        on conflict (payout_order_id, kind, subject) do nothing
        "#,
        new.id,
        new.event_id,
        new.kind.as_str(),
        new.merchant_id,
        new.payout_order_id,
        new.subject,
        new.url,
        new.payload
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
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
