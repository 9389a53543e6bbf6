//! Ledger entries of a merchant for an export, and the balances before them.
//!
//! His are the entries of his own accounts and of his payout orders'. The other side of an entry is
//! often an account that all merchants share; of that the file has the part of these entries.

use chrono::{DateTime, Utc};
use futures_util::{Stream, TryStreamExt};

use super::Asked;
use crate::{
    ledger::EntryKind,
    storage::{PgConnection, StorageError},
};

/// An entry with the record that caused it.
#[derive(Debug)]
pub struct LedgerRow {
    pub id: i64,
    pub at: DateTime<Utc>,
    pub kind: EntryKind,
    pub token_id: String,
    pub debit: String,
    pub credit: String,
    /// Base units as digits.
    pub amount: String,
    pub payment_id: Option<String>,
    /// The merchant's own name of the invoice.
    pub order_id: Option<String>,
    pub payout_order_id: Option<String>,
    pub tx_hash: Option<String>,
    pub fiat_currency: Option<String>,
    /// As recorded for a deposit; otherwise it is the amount at `fiat_rate`.
    pub fiat_value: Option<String>,
    pub fiat_rate: Option<String>,
}

/// The part of an account before the range. Base units as digits, with a sign.
#[derive(Debug)]
pub struct Opening {
    pub account: String,
    pub token_id: String,
    pub units: String,
}

/// The sums of all entries before the range, by account and asset, without those at zero. Indices:
/// `ledger_entry_by_credit_time`, `ledger_entry_by_debit_time`, `payout_order_by_merchant`.
pub async fn opening(
    connection: &mut PgConnection,
    asked: Asked,
) -> Result<Vec<Opening>, StorageError> {
    let accounts = asked.accounts();
    let rows = sqlx::query_as!(
        Opening,
        r#"
        with owner as (
            select account from unnest($2::text[]) as own (account)
            union all
            select 'payout:' || id from payout_order where merchant_id = $1
        ),
        entry as (
            select l.id, l.asset, l.debit, l.credit, l.amount
            from owner w
            join ledger_entry l on l.credit = w.account
            where l.credit not like 'custody:%' and l.credit <> 'treasury' and l.created_at < $3
            union
            select l.id, l.asset, l.debit, l.credit, l.amount
            from owner w
            join ledger_entry l on l.debit = w.account
            where l.debit not like 'custody:%' and l.debit <> 'treasury' and l.created_at < $3
        ),
        side as (
            select credit as account, asset, amount from entry
            union all
            select debit, asset, -amount from entry
        )
        select account as "account!", asset as "token_id!", sum(amount)::text as "units!"
        from side
        group by account, asset
        having sum(amount) <> 0
        "#,
        asked.merchant_id,
        &accounts[..],
        asked.range.from
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Entries of one of the merchant's accounts in a part of an export: few enough to be sorted in
/// memory.
const PART: i64 = 10_000;

/// The end of the first part of a range: before a side of one of the merchant's own accounts has
/// more than [`PART`] entries behind its first moment; `None` if the range is one part. Entries of
/// one moment stay together. Indices: `ledger_entry_by_credit_time`,
/// `ledger_entry_by_debit_time`.
pub async fn part_end(
    connection: &mut PgConnection,
    asked: Asked,
) -> Result<Option<DateTime<Utc>>, StorageError> {
    let accounts = asked.accounts();
    let (from, to) = asked.bounds();
    let end = sqlx::query_scalar!(
        r#"
        select min(part.until)
        from unnest($1::text[]) as own (account)
        cross join lateral (
            (select l.created_at as until
             from ledger_entry l
             where l.credit = own.account and l.credit not like 'custody:%' and l.credit <> 'treasury'
               and l.created_at > $2 and l.created_at < $3
             order by l.created_at, l.id
             offset $4 limit 1)
            union all
            (select l.created_at
             from ledger_entry l
             where l.debit = own.account and l.debit not like 'custody:%' and l.debit <> 'treasury'
               and l.created_at > $2 and l.created_at < $3
             order by l.created_at, l.id
             offset $4 limit 1)
        ) part
        "#,
        &accounts[..],
        from,
        to,
        PART
    )
    .fetch_one(connection)
    .await?;
    Ok(end)
}

/// The entries of the range. Indices: `ledger_entry_by_credit_time`, `ledger_entry_by_debit_time`,
/// `payout_order_by_merchant`, `payout_payment_by_order`, `deposit_by_invoice`.
pub fn read(
    connection: &mut PgConnection,
    asked: Asked,
) -> impl Stream<Item = Result<LedgerRow, StorageError>> {
    let accounts = asked.accounts();
    let (from, to) = asked.bounds();
    sqlx::query_as!(
        LedgerRow,
        r#"
        with owner as (
            select account from unnest($2::text[]) as own (account)
            union all
            select 'payout:' || id from payout_order where merchant_id = $1
        ),
        entry as (
            select l.id, l.created_at, l.kind, l.source, l.asset, l.debit, l.credit, l.amount
            from owner w
            join ledger_entry l on l.credit = w.account
            where l.credit not like 'custody:%' and l.credit <> 'treasury' and l.created_at >= $3 and l.created_at < $4
            union all
            select l.id, l.created_at, l.kind, l.source, l.asset, l.debit, l.credit, l.amount
            from owner w
            join ledger_entry l on l.debit = w.account
            where l.debit not like 'custody:%' and l.debit <> 'treasury' and l.created_at >= $3 and l.created_at < $4
              and not exists (select from owner own where own.account = l.credit)
        )
        select e.id as "id!", e.created_at as "at!", e.kind as "kind!: _", e.asset as "token_id!", e.debit as "debit!",
               e.credit as "credit!", e.amount::text as "amount!", i.payment_id as "payment_id?", i.order_id,
               o.order_id as "payout_order_id?", coalesce(d.tx_hash, p.tx_hash) as tx_hash,
               coalesce(d.fiat_currency, x.fiat_currency, case when o.id is not null then 'usd' end) as fiat_currency,
               trim_scale(d.fiat_value)::text as fiat_value,
               trim_scale(coalesce(x.fiat_rate, case when e.asset = o.token_id then o.asset_price_usd end))::text as fiat_rate
        from entry e
        left join deposit d on d.id = e.source and e.kind not in ('excess', 'excess_reversal')
        left join deposit s on s.id = e.source
        left join invoice i on i.id = coalesce(s.invoice_id, e.source)
        left join payout_order o on o.id = case
            when e.debit like 'payout:%' then substr(e.debit, 8)::uuid
            when e.credit like 'payout:%' then substr(e.credit, 8)::uuid
            else s.payout_order_id
        end
        left join payout_payment p on p.order_id = o.id and e.source in (p.id, p.booked_as)
        left join lateral (
            select z.fiat_rate, z.fiat_currency
            from deposit z
            where e.kind in ('excess', 'excess_reversal') and z.invoice_id = i.id and z.booked_as = 'credit'
              and z.fiat_rate is not null
            order by z.settled_at desc, z.id desc
            limit 1
        ) x on true
        order by e.created_at, e.id
        "#,
        asked.merchant_id,
        &accounts[..],
        from,
        to
    )
    .fetch(connection)
    .map_err(StorageError::from)
}
