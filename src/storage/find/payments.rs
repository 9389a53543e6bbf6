//! Payments and subscriptions that a text names.

use uuid::Uuid;

use super::{FoundRow, found_rows};
use crate::storage::{PgConnection, StorageError};

/// Query for the payments whose row ids the end of the query gives.
macro_rules! payments {
    ($ids:tt, $($argument:expr),+ $(,)?) => {
        found_rows!(
            "select i.payment_id, i.merchant_id, i.status, i.network, i.order_id, i.created_at
             from invoice i
             where i.id = any (array(" + $ids + "))",
            $($argument),+
        )
    };
}

/// The payment of a `payment_id`, of a legacy `txn_id`, or of a row's id. Indices:
/// `invoice_payment_id_unique`, `legacy_payment_txn_id_unique`, `invoice_pkey`.
pub async fn by_id(
    connection: &mut PgConnection,
    text: &str,
    row: Option<Uuid>,
) -> Result<Vec<FoundRow>, StorageError> {
    let rows = payments!(
        "select id from invoice where payment_id = $1
         union
         select invoice_id from legacy_payment where txn_id = $1
         union
         select $2::uuid",
        text,
        row
    );
    Ok(rows.fetch_all(connection).await?)
}

/// The payments of an order id, of all merchants: one look into the index `invoice_by_order` for
/// each of them.
pub async fn by_order(
    connection: &mut PgConnection,
    order_id: &str,
) -> Result<Vec<FoundRow>, StorageError> {
    let rows = payments!(
        "select o.id
         from merchant m, lateral (
             select id from invoice
             where merchant_id = m.id and order_id = $1
             order by created_at desc
             limit 21
         ) as o",
        order_id
    );
    Ok(rows.fetch_all(connection).await?)
}

/// The payments of a subscriber's e-mail address, in lower case: one look into the index
/// `invoice_by_email` for each merchant.
pub async fn by_email(
    connection: &mut PgConnection,
    email: &str,
) -> Result<Vec<FoundRow>, StorageError> {
    let rows = payments!(
        "select s.id
         from merchant m, lateral (
             select id from invoice
             where merchant_id = m.id and lower(subscriber_email) = $1 and subscriber_email is not null
             order by created_at desc
             limit 21
         ) as s",
        email
    );
    Ok(rows.fetch_all(connection).await?)
}

/// Query for the subscriptions whose row ids the end of the query gives, each with its newest
/// payment. Index: `invoice_by_subscription`.
macro_rules! subscriptions {
    ($ids:tt, $($argument:expr),+ $(,)?) => {
        found_rows!(
            "select s.subscription_id, s.merchant_id, s.state, null::text,
                    (select i.payment_id from invoice i where i.subscription_id = s.id
                     order by i.created_at desc, i.id desc limit 1),
                    s.created_at
             from subscription s
             where s.id = any (array(" + $ids + "))",
            $($argument),+
        )
    };
}

/// The subscription of a public id or of a row's id. Indices: `subscription_id_unique`,
/// `subscription_pkey`.
pub async fn subscription(
    connection: &mut PgConnection,
    text: &str,
    row: Option<Uuid>,
) -> Result<Vec<FoundRow>, StorageError> {
    let rows = subscriptions!(
        "select id from subscription where subscription_id = $1
         union
         select $2::uuid",
        text,
        row
    );
    Ok(rows.fetch_all(connection).await?)
}

/// The subscriptions of a subscriber's e-mail address, in lower case. Index:
/// `subscription_by_email`.
pub async fn subscriptions_by_email(
    connection: &mut PgConnection,
    email: &str,
) -> Result<Vec<FoundRow>, StorageError> {
    let rows = subscriptions!(
        "select id from subscription where lower(email) = $1 order by id desc limit 21",
        email
    );
    Ok(rows.fetch_all(connection).await?)
}
