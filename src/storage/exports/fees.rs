//! Fees of a merchant's payout orders for an export, as the ledger has booked them.

use chrono::{DateTime, Utc};
use futures_util::{Stream, TryStreamExt};

use super::Asked;
use crate::{
    money::BaseUnits,
    storage::{PgConnection, StorageError},
};

/// A booking of a fee, or of its return, in the order's asset.
#[derive(Debug)]
pub struct FeeRow {
    pub at: DateTime<Utc>,
    pub order_id: String,
    pub token_id: String,
    pub amount: BaseUnits,
    pub is_returned: bool,
    /// The fees of the order's quote.
    pub network_fee: BaseUnits,
    pub service_fee: BaseUnits,
    pub price_usd: String,
    pub tx_hash: Option<String>,
}

/// Fees between orders' accounts and the treasury. Indices: `payout_order_by_merchant`,
/// `ledger_entry_by_debit_time`, `ledger_entry_by_credit_time`, `payout_payment_by_order`.
pub fn read(
    connection: &mut PgConnection,
    asked: Asked,
) -> impl Stream<Item = Result<FeeRow, StorageError>> {
    let (from, to) = asked.bounds();
    sqlx::query_as!(
        FeeRow,
        r#"
        with entry as (
            select l.id, l.created_at, l.source, l.amount, false as is_returned, o.id as order_id
            from payout_order o
            join ledger_entry l on l.debit = 'payout:' || o.id
            where o.merchant_id = $1 and l.debit not like 'custody:%' and l.debit <> 'treasury'
              and l.created_at >= $2 and l.created_at < $3 and l.kind = 'payout_fee'
            union all
            select l.id, l.created_at, l.source, l.amount, true, o.id
            from payout_order o
            join ledger_entry l on l.credit = 'payout:' || o.id
            where o.merchant_id = $1 and l.credit not like 'custody:%' and l.credit <> 'treasury'
              and l.created_at >= $2 and l.created_at < $3 and l.kind = 'payout_fee_returned'
        )
        select e.created_at as "at!", o.order_id, o.token_id, e.amount as "amount!: _", e.is_returned as "is_returned!",
               o.network_fee as "network_fee: _", o.service_fee as "service_fee: _",
               trim_scale(o.asset_price_usd)::text as "price_usd!", p.tx_hash as "tx_hash?"
        from entry e
        join payout_order o on o.id = e.order_id
        left join payout_payment p on p.order_id = o.id and e.source in (p.id, p.booked_as)
        order by e.created_at, e.id
        "#,
        asked.merchant_id,
        from,
        to
    )
    .fetch(connection)
    .map_err(StorageError::from)
}
