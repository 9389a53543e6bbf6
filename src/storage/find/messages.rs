//! Webhooks, events and mails that a text names.

use uuid::Uuid;

use super::{FoundRow, found_rows};
use crate::storage::{PgConnection, StorageError};

/// The webhook of an event's id, or of a row's id, with its payment or order. Indices:
/// `delivery_event_id_unique`, `delivery_pkey`.
pub async fn webhook(
    connection: &mut PgConnection,
    text: &str,
    row: Option<Uuid>,
) -> Result<Vec<FoundRow>, StorageError> {
    let rows = found_rows!(
        "select d.event_id, d.merchant_id, d.state, null::text, coalesce(i.payment_id, o.order_id), d.created_at
         from delivery d
         left join invoice i on i.id = d.invoice_id
         left join payout_order o on o.id = d.payout_order_id
         where d.id = any (array(
             select id from delivery where event_id = $1
             union
             select $2::uuid
         ))",
        text,
        row
    );
    Ok(rows.fetch_all(connection).await?)
}

/// The event of an id that stands in the feed and has no webhook. Index: `event_pkey`.
pub async fn event(
    connection: &mut PgConnection,
    text: &str,
) -> Result<Vec<FoundRow>, StorageError> {
    let rows = found_rows!(
        "select e.event_id, e.merchant_id, 'in the feed alone', null::text, e.resource_id, e.created_at
         from event e
         where e.event_id = $1 and e.delivery_id is null",
        text
    );
    Ok(rows.fetch_all(connection).await?)
}

/// The mail of a row's id; never its address. Index: `mail_pkey`.
pub async fn mail(connection: &mut PgConnection, row: Uuid) -> Result<Vec<FoundRow>, StorageError> {
    let rows = found_rows!(
        "select e.id::text, e.merchant_id, e.state, null::text, e.kind, e.created_at
         from mail e
         where e.id = $1",
        row
    );
    Ok(rows.fetch_all(connection).await?)
}

/// A mailbox that servers refused for good, by the SHA-256 of its address in one of its spellings.
/// Index: `mail_bounce_pkey`.
pub async fn refused_mailbox(
    connection: &mut PgConnection,
    text: &str,
    recipients: &[Vec<u8>],
) -> Result<Vec<FoundRow>, StorageError> {
    let rows = found_rows!(
        "select $1::text, null::uuid, 'refused for good ' || b.bounces || ' times', null::text, null::text, b.bounced_at
         from mail_bounce b
         where b.recipient = any ($2)",
        text,
        recipients
    );
    Ok(rows.fetch_all(connection).await?)
}
