//! Payout orders, and payouts that merchants sign, that a text names.

use uuid::Uuid;

use super::{FoundRow, found_rows};
use crate::storage::{PgConnection, StorageError};

/// Query for the orders whose row ids the end of the query gives.
macro_rules! orders {
    ($ids:tt, $($argument:expr),+ $(,)?) => {
        found_rows!(
            "select o.order_id, o.merchant_id,
                    case when o.held_at is null then o.state else o.state || ', held' end,
                    o.network, o.label, o.created_at
             from payout_order o
             where o.id = any (array(" + $ids + "))",
            $($argument),+
        )
    };
}

/// The order of a public id, of its batch or recipient, of a legacy withdrawal, or of a row's id.
/// Indices: `payout_order_id_unique`, `payout_batch_id_unique`, `payout_item_id_unique`,
/// `legacy_withdrawal_id_unique`, `payout_order_pkey`.
pub async fn order_by_id(
    connection: &mut PgConnection,
    text: &str,
    row: Option<Uuid>,
) -> Result<Vec<FoundRow>, StorageError> {
    let rows = orders!(
        "select id from payout_order where order_id = $1
         union
         select order_id from payout_batch where batch_id = $1
         union
         select order_id from payout_item where item_id = $1
         union
         select payout_order_id from legacy_withdrawal where withdrawal_id = $1
         union
         select $2::uuid",
        text,
        row
    );
    Ok(rows.fetch_all(connection).await?)
}

/// The orders that a transaction was signed for, whether it was sent or replaced. Index:
/// `payout_version_hash_unique`.
pub async fn orders_by_transaction(
    connection: &mut PgConnection,
    hashes: &[String],
) -> Result<Vec<FoundRow>, StorageError> {
    let rows = orders!(
        "select p.order_id
         from payout_version v
         join payout_payment p on p.id = v.payment_id
         where v.tx_hash = any ($1)",
        hashes
    );
    Ok(rows.fetch_all(connection).await?)
}

/// The newest orders with a recipient at an address: from each one step to the next older, as an
/// order may have thousands of them at one. Index: `payout_item_by_address`.
pub async fn orders_by_recipient(
    connection: &mut PgConnection,
    addresses: &[String],
) -> Result<Vec<FoundRow>, StorageError> {
    let rows = orders!(
        "select r.order_id
         from unnest($1::text[]) as wanted, lateral (
             with recursive newest (order_id, place) as (
                 select (select order_id from payout_item where address = wanted order by order_id desc limit 1), 1
                 union all
                 select (select i.order_id from payout_item i
                         where i.address = wanted and i.order_id < newest.order_id
                         order by i.order_id desc limit 1),
                        place + 1
                 from newest
                 where newest.order_id is not null and place <= 21
             )
             select order_id from newest
         ) as r
         where r.order_id is not null",
        addresses
    );
    Ok(rows.fetch_all(connection).await?)
}

/// Query for the payouts that merchants sign whose row ids the end of the query gives.
macro_rules! signed_by_merchants {
    ($ids:tt, $($argument:expr),+ $(,)?) => {
        found_rows!(
            "select p.payout_id, p.merchant_id, p.state, p.network, p.sender, p.created_at
             from nc_payout p
             where p.id = any (array(" + $ids + "))",
            $($argument),+
        )
    };
}

/// The payout of a public id or of a row's id. Indices: `nc_payout_id_unique`, `nc_payout_pkey`.
pub async fn signed_by_id(
    connection: &mut PgConnection,
    text: &str,
    row: Option<Uuid>,
) -> Result<Vec<FoundRow>, StorageError> {
    let rows = signed_by_merchants!(
        "select id from nc_payout where payout_id = $1
         union
         select $2::uuid",
        text,
        row
    );
    Ok(rows.fetch_all(connection).await?)
}

/// The payouts that a transaction was signed for. Index: `nc_payout_transaction_by_hash`.
pub async fn signed_by_transaction(
    connection: &mut PgConnection,
    hashes: &[String],
) -> Result<Vec<FoundRow>, StorageError> {
    let rows = signed_by_merchants!(
        "select payout_id from nc_payout_transaction where tx_hash = any ($1) and tx_hash is not null",
        hashes
    );
    Ok(rows.fetch_all(connection).await?)
}

/// The newest payouts with a recipient at an address, as [`orders_by_recipient`]. Index:
/// `nc_payout_output_by_address`.
pub async fn signed_by_recipient(
    connection: &mut PgConnection,
    addresses: &[String],
) -> Result<Vec<FoundRow>, StorageError> {
    let rows = signed_by_merchants!(
        "select r.payout_id
         from unnest($1::text[]) as wanted, lateral (
             with recursive newest (payout_id, place) as (
                 select (select payout_id from nc_payout_output where address = wanted order by payout_id desc limit 1), 1
                 union all
                 select (select o.payout_id from nc_payout_output o
                         where o.address = wanted and o.payout_id < newest.payout_id
                         order by o.payout_id desc limit 1),
                        place + 1
                 from newest
                 where newest.payout_id is not null and place <= 21
             )
             select payout_id from newest
         ) as r
         where r.payout_id is not null",
        addresses
    );
    Ok(rows.fetch_all(connection).await?)
}
