//! Deposits and addresses that a text names.

use uuid::Uuid;

use super::{FoundRow, found_rows};
use crate::{
    asset::{Family, Network},
    storage::{PgConnection, StorageError},
};

/// Query for the deposits that the end of the query selects, by their transactions.
macro_rules! deposits {
    ($chosen:tt, $($argument:expr),+ $(,)?) => {
        found_rows!(
            "select d.tx_hash, coalesce(i.merchant_id, o.merchant_id, r.merchant_id, l.merchant_id),
                    d.state || case when d.booked_as is null then '' else ', booked as ' || d.booked_as end
                            || case when exists (select from deposit n where n.replaces = d.id) then ', replaced' else '' end,
                    d.network, coalesce(i.payment_id, o.order_id, r.resource_id, a.address), d.first_seen_at
             from deposit d
             join deposit_address a on a.id = d.address_id
             left join invoice i on i.id = d.invoice_id
             left join payout_order o on o.id = d.payout_order_id
             left join x402_resource r on r.address_id = d.address_id
             left join legacy_address l on l.address_id = d.address_id
             where " + $chosen,
            $($argument),+
        )
    };
}

/// The deposit of a row's id, replaced or not. Index: `deposit_pkey`.
pub async fn deposit(
    connection: &mut PgConnection,
    row: Uuid,
) -> Result<Vec<FoundRow>, StorageError> {
    Ok(deposits!("d.id = $1", row).fetch_all(connection).await?)
}

/// The deposits of a transaction, without replaced ones. Indices: `deposit_by_transaction`,
/// `deposit_replaced_once`.
pub async fn deposits_by_transaction(
    connection: &mut PgConnection,
    hashes: &[String],
) -> Result<Vec<FoundRow>, StorageError> {
    let networks: Vec<_> = Network::ALL.iter().map(|network| network.name().to_owned()).collect();
    let rows = deposits!(
        "d.network = any ($1) and d.tx_hash = any ($2) and not exists (select from deposit n where n.replaces = d.id)",
        &networks,
        hashes
    );
    Ok(rows.fetch_all(connection).await?)
}

/// The addresses that were given out for an invoice, a payout order or a resource of x402, or to a
/// merchant, and those that lie in a pool. Indices: `deposit_address_unique`,
/// `address_pool_unique`.
pub async fn addresses(
    connection: &mut PgConnection,
    match_keys: &[String],
    text: &str,
) -> Result<Vec<FoundRow>, StorageError> {
    let families: Vec<_> = Family::ALL.iter().map(|family| family.name().to_owned()).collect();
    let rows = found_rows!(
        "select a.address, coalesce(i.merchant_id, o.merchant_id, r.merchant_id, l.merchant_id),
                coalesce(i.status, o.state,
                         case when r.id is null then null when r.deleted_at is null then 'for a resource'
                              else 'for a deleted resource' end,
                         case when l.address_id is null then 'without owner' else 'for ever' end),
                a.network, coalesce(i.payment_id, o.order_id, r.resource_id, l.label), a.created_at
         from deposit_address a
         left join invoice i on i.id = a.invoice_id
         left join payout_order o on o.id = a.payout_order_id
         left join x402_resource r on r.address_id = a.id
         left join legacy_address l on l.address_id = a.id
         where a.family = any ($1) and a.match_key = any ($2)
         union all
         select p.address, null::uuid, 'in its pool, not given out', p.family, null::text, null::timestamptz
         from address_pool p
         where p.family = any ($1) and p.address = $3 and p.taken_at is null",
        &families,
        match_keys,
        text
    );
    Ok(rows.fetch_all(connection).await?)
}
