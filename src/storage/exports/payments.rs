//! Deposits of a merchant for an export, as the ledger has booked them.

use chrono::{DateTime, Utc};
use futures_util::{Stream, TryStreamExt};

use super::Asked;
use crate::{
    asset::Network,
    invoice::Status,
    ledger::EntryKind,
    storage::{PgConnection, StorageError},
};

/// A booking of a deposit, or its reversal.
#[derive(Debug)]
pub struct PaymentRow {
    /// When it was booked.
    pub at: DateTime<Utc>,
    /// False for a reversal.
    pub is_in: bool,
    pub token_id: String,
    /// Base units as digits.
    pub amount: String,
    /// The first booking of the deposit.
    pub booked: EntryKind,
    /// No deposit of the invoice was credited before it.
    pub is_first: bool,
    /// It brought more than the invoice takes.
    pub is_excess: bool,
    pub tx_hash: String,
    pub deposit_key: String,
    pub network: Network,
    pub contract: Option<String>,
    pub height: Option<i64>,
    pub head: Option<i64>,
    pub sender: Option<String>,
    pub to_address: String,
    pub fiat_currency: Option<String>,
    pub fiat_value: Option<String>,
    pub fiat_rate: Option<String>,
    pub fiat_rate_source: Option<String>,
    pub payment_id: Option<String>,
    pub order_id: Option<String>,
    pub status: Option<Status>,
    /// The order at whose address it came; the deposits that fund an order are no payments.
    pub payout_order_id: Option<String>,
}

/// Bookings of deposits on the merchant's own accounts. Indices: `ledger_entry_by_credit_time`,
/// `ledger_entry_by_debit_time`, `ledger_entry_unique`, `deposit_by_invoice`.
pub fn read(
    connection: &mut PgConnection,
    asked: Asked,
) -> impl Stream<Item = Result<PaymentRow, StorageError>> {
    let accounts = asked.accounts();
    let (from, to) = asked.bounds();
    sqlx::query_as!(
        PaymentRow,
        r#"
        with entry as (
            select l.id, l.created_at, l.source, l.asset, l.amount, true as is_in
            from ledger_entry l
            where l.credit = any($1) and l.credit not like 'custody:%' and l.credit <> 'treasury'
              and l.created_at >= $2 and l.created_at < $3
              and l.kind in ('deposit', 'late_deposit', 'foreign_deposit', 'x402_payment')
            union all
            select l.id, l.created_at, l.source, l.asset, l.amount, false
            from ledger_entry l
            where l.debit = any($1) and l.debit not like 'custody:%' and l.debit <> 'treasury'
              and l.created_at >= $2 and l.created_at < $3 and l.kind = 'reversal'
        )
        select e.created_at as "at!", e.is_in as "is_in!", e.asset as "token_id!", e.amount::text as "amount!",
               g.kind as "booked: _",
               not exists (
                   select from deposit y
                   join ledger_entry b on b.kind = 'deposit' and b.source = y.id
                   where y.invoice_id = d.invoice_id and b.id < g.id
               ) as "is_first!",
               exists (
                   select from ledger_entry x
                   where x.kind = 'excess' and x.id > g.id
                     and (x.source = d.id
                          or x.source = d.invoice_id and not exists (
                              select from deposit y
                              join ledger_entry b on b.kind = 'deposit' and b.source = y.id
                              where y.invoice_id = d.invoice_id and b.id > g.id and b.id < x.id
                          ))
               ) as "is_excess!",
               d.tx_hash, d.deposit_key, d.network as "network: _", d.contract, d.height, c.height as "head?", d.sender,
               a.address as to_address, d.fiat_currency, trim_scale(d.fiat_value)::text as fiat_value,
               trim_scale(d.fiat_rate)::text as fiat_rate, d.fiat_rate_source, coalesce(i.payment_id, x.resource_id) as "payment_id?", i.order_id,
               i.status as "status?: _", o.order_id as "payout_order_id?"
        from entry e
        join ledger_entry g on g.source = e.source and g.kind in ('deposit', 'late_deposit', 'foreign_deposit', 'x402_payment')
        join deposit d on d.id = e.source
        join deposit_address a on a.id = d.address_id
        left join chain_cursor c on c.network = d.network
        left join invoice i on i.id = d.invoice_id
        left join payout_order o on o.id = d.payout_order_id
        left join x402_resource x on x.address_id = d.address_id
        order by e.created_at, e.id
        "#,
        &accounts[..],
        from,
        to
    )
    .fetch(connection)
    .map_err(StorageError::from)
}
