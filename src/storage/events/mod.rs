//! Events of merchants: what happened to their invoices and payouts, with a webhook or without.
//!
//! An event is written in the transaction of its cause. Its place in the feed is given later
//! ([`feed`]).

pub mod feed;
pub mod resend;
pub mod resend_many;
pub mod test_event;

use uuid::Uuid;

use super::{PgConnection, StorageError};
use crate::webhook::event::EventKind;

/// An event of an invoice, or of a deposit without one.
#[derive(Debug, Clone)]
pub struct NewEvent {
    pub event_id: String,
    pub kind: EventKind,
    pub merchant_id: Uuid,
    /// The public id of its subject.
    pub payment_id: String,
    /// The deposit behind a notice.
    pub subject: Option<Uuid>,
    pub payload: String,
    /// `None` where nobody is to be told.
    pub delivery: Option<NewDelivery>,
}

/// The delivery of an event.
#[derive(Debug, Clone)]
pub struct NewDelivery {
    pub id: Uuid,
    /// `None` of a deposit that belongs to none.
    pub invoice_id: Option<Uuid>,
    pub url: String,
    /// The message that starts its first attempt.
    pub message: String,
}

/// Writes events, their deliveries and the messages that start those, in one statement. An event
/// that its invoice already has is left out, together with its delivery and its message.
pub async fn tell(
    connection: &mut PgConnection,
    events: &[NewEvent],
    route: &str,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        with new as (
            select *
            from unnest($1::text[], $2::text[], $3::uuid[], $4::text[], $5::uuid[], $6::text[], $7::text[], $8::uuid[],
                        $9::uuid[], $10::text[], $11::text[])
                as t (event_id, type, merchant_id, payment_id, subject, payload, kind, delivery_id, invoice_id, url,
                      message)
        ),
        made as (
            insert into delivery (id, event_id, channel, kind, merchant_id, invoice_id, subject, url, payload, state,
                next_attempt_at)
            select delivery_id, event_id, 'ipn', kind, merchant_id, invoice_id,
                   coalesce(subject, '00000000-0000-0000-0000-000000000000'), url, payload, 'pending', now()
            from new
            where delivery_id is not null
            on conflict (invoice_id, kind, subject) do nothing
            returning id
        ),
        told as (
            insert into event (event_id, merchant_id, type, resource_id, subject, delivery_id, payload)
            select event_id, merchant_id, type, payment_id, subject, made.id, case when made.id is null then payload end
            from new left join made on made.id = delivery_id
            where delivery_id is null or made.id is not null
            on conflict (resource_id, type, subject) where subject is not null do nothing
        )
        insert into outbox (route, body)
        select $12, message from new join made on made.id = delivery_id
        "#,
        &column(events, |event| event.event_id.clone()),
        &column(events, |event| event.kind.as_str().to_owned()),
        &column(events, |event| event.merchant_id),
        &column(events, |event| event.payment_id.clone()),
        &column(events, |event| event.subject) as &[Option<Uuid>],
        &column(events, |event| event.payload.clone()),
        &column(events, |event| event.kind.delivery_name().to_owned()),
        &column(events, |event| Some(event.delivery.as_ref()?.id)) as &[Option<Uuid>],
        &column(events, |event| event.delivery.as_ref()?.invoice_id) as &[Option<Uuid>],
        &column(events, |event| Some(event.delivery.as_ref()?.url.clone())) as &[Option<String>],
        &column(events, |event| Some(event.delivery.as_ref()?.message.clone()))
            as &[Option<String>],
        route
    )
    .execute(connection)
    .await?;
    Ok(())
}

fn column<T>(events: &[NewEvent], of: impl Fn(&NewEvent) -> T) -> Vec<T> {
    events.iter().map(of).collect()
}
