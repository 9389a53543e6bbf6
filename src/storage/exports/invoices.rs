//! Invoices for an export.

use chrono::{DateTime, Utc};
use futures_util::{Stream, TryStreamExt};

use super::Asked;
use crate::{
    invoice::Status,
    storage::{PgConnection, StorageError},
};

/// An invoice that has a currency. Base units as digits.
#[derive(Debug)]
pub struct InvoiceRow {
    pub payment_id: String,
    pub order_id: Option<String>,
    pub invoice_type: String,
    pub created_at: DateTime<Utc>,
    pub finished_at: Option<DateTime<Utc>>,
    pub status: Status,
    pub price_amount: String,
    pub price_currency: String,
    pub token_id: String,
    pub pay_amount: String,
    pub received: String,
    pub overpaid: String,
    pub rate: Option<String>,
    /// What the invoice brought to the merchant's available balance.
    pub settled: String,
    pub order_description: Option<String>,
}

/// Invoices by their creation. Drafts without a currency are left out, as in the list of payments.
/// Indices: `invoice_by_created`, `ledger_entry_by_source`, `deposit_by_invoice`.
pub fn read(
    connection: &mut PgConnection,
    asked: Asked,
) -> impl Stream<Item = Result<InvoiceRow, StorageError>> {
    let [merchant, ..] = asked.accounts();
    let (from, to) = asked.bounds();
    sqlx::query_as!(
        InvoiceRow,
        r#"
        select i.payment_id, i.order_id, i.invoice_type, i.created_at, f.finished_at as "finished_at?",
               i.status as "status: _", trim_scale(i.price_amount)::text as "price_amount!", i.price_currency,
               i.token_id as "token_id!", i.pay_amount::text as "pay_amount!", i.received::text as "received!",
               greatest(i.credited - i.pay_amount, 0)::text as "overpaid!", trim_scale(i.rate)::text as rate,
               b.settled::text as "settled!", i.order_description
        from invoice i
        left join invoice_finish f on f.invoice_id = i.id
        cross join lateral (
            select coalesce(sum(case $2 when l.credit then l.amount when l.debit then -l.amount else 0 end), 0) as settled
            from ledger_entry l
            where l.source in (select i.id union all select d.id from deposit d where d.invoice_id = i.id)
        ) b
        where i.merchant_id = $1 and i.token_id is not null and i.created_at >= $3 and i.created_at < $4
        order by i.created_at, i.id
        "#,
        asked.merchant_id,
        merchant,
        from,
        to
    )
    .fetch(connection)
    .map_err(StorageError::from)
}
