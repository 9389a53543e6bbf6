//! Ledger entries of a merchant for an export, and the balances before them.
//!
//! His are the entries of his own accounts and of his payout orders'. The other side of an entry is
//! often an account that all merchants share; of that the file has the part of these entries.

use chrono::{DateTime, Utc};
use futures_util::{Stream, TryStreamExt};
use uuid::Uuid;

use super::Asked;
use crate::{
    ledger::EntryKind,
    storage::{PgConnection, StorageError},
};

/// A moment in the order of a merchant's entries: directly after the entry of this time and id.
#[derive(Debug, Clone, Copy)]
pub struct After {
    at: DateTime<Utc>,
    id: i64,
}

impl After {
    /// Before all entries of `at` and later.
    pub const fn the_entries_before(at: DateTime<Utc>) -> Self {
        Self { at, id: i64::MIN }
    }

    pub const fn entry(row: &LedgerRow) -> Self {
        Self { at: row.at, id: row.id }
    }
}

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

/// Entries in a part of an export, at least: about a millisecond of reading, after which
/// PostgreSQL's process waits and others have its processor.
const PART_MIN: i64 = 300;
/// At most: few enough to be sorted in memory.
const PART_MAX: i64 = 10_000;

/// One plan for all parts: to plan each took longer than to read a small one. It is made for this
/// export: that of an earlier one may have been made when a table was still empty.
const PLAN: [&str; 2] = ["set local plan_cache_mode = force_generic_plan", "discard plans"];

/// Makes a transaction ready for many parts, and returns how many entries one should have.
///
/// Each looks into the accounts of all the merchant's payout orders, so it has as many entries as
/// there are of those. Index: `payout_order_by_merchant`.
pub async fn begin_parts(
    connection: &mut PgConnection,
    merchant_id: Uuid,
) -> Result<i64, StorageError> {
    for statement in PLAN {
        sqlx::query(statement).execute(&mut *connection).await?;
    }
    let orders = sqlx::query_scalar!(
        r#"
        select count(*) as "count!"
        from (select from payout_order where merchant_id = $1 limit $2) counted
        "#,
        merchant_id,
        PART_MAX
    );
    Ok(orders.fetch_one(connection).await?.clamp(PART_MIN, PART_MAX))
}

/// The next entries of the range, `most` unless it ends. Each account gives its next `most`, of
/// which the first of all are kept. Indices: `ledger_entry_by_credit_time`,
/// `ledger_entry_by_debit_time`, `payout_order_by_merchant`, `payout_payment_by_order`,
/// `deposit_by_invoice`.
///
/// `offset 0` looks each row up by itself. A plan for any part cannot know that parts are small: it
/// would join whole tables for each. A lookup that few entries need stands behind a `case`: a join
/// would begin a search, or a sort, for every entry.
#[expect(clippy::too_many_lines, reason = "one statement")]
pub fn read(
    connection: &mut PgConnection,
    asked: Asked,
    after: After,
    most: i64,
) -> impl Stream<Item = Result<LedgerRow, StorageError>> {
    let accounts = asked.accounts();
    sqlx::query_as!(
        LedgerRow,
        r#"
        with owner as (
            select account from unnest($2::text[]) as own (account)
            union all
            select 'payout:' || id from payout_order where merchant_id = $1
        ),
        side as (
            select next.id, next.created_at, next.kind, next.source, next.asset, next.debit, next.credit, next.amount
            from owner w
            cross join lateral (
                select l.id, l.created_at, l.kind, l.source, l.asset, l.debit, l.credit, l.amount
                from ledger_entry l
                where l.credit = w.account and l.credit not like 'custody:%' and l.credit <> 'treasury'
                  and (l.created_at, l.id) > ($3, $4) and l.created_at < $5
                order by l.created_at, l.id
                limit $6
            ) next
            union all
            select next.id, next.created_at, next.kind, next.source, next.asset, next.debit, next.credit, next.amount
            from owner w
            cross join lateral (
                select l.id, l.created_at, l.kind, l.source, l.asset, l.debit, l.credit, l.amount
                from ledger_entry l
                where l.debit = w.account and l.debit not like 'custody:%' and l.debit <> 'treasury'
                  and (l.created_at, l.id) > ($3, $4) and l.created_at < $5
                order by l.created_at, l.id
                limit $6
            ) next
            where next.credit not in (select account from owner)
        ),
        entry as (
            select id, created_at, kind, source, asset, debit, credit, amount
            from side
            order by created_at, id
            limit $6
        )
        select e.id as "id!", e.created_at as "at!", e.kind as "kind!: _", e.asset as "token_id!", e.debit as "debit!",
               e.credit as "credit!", e.amount::text as "amount!", i.payment_id as "payment_id?",
               i.order_id as "order_id?", o.order_id as "payout_order_id?",
               coalesce(d.tx_hash, case when o.id is not null then (
                   select p.tx_hash from payout_payment p where p.order_id = o.id and e.source in (p.id, p.booked_as)
               ) end) as tx_hash,
               coalesce(d.fiat_currency, (x.credit).fiat_currency, case when o.id is not null then 'usd' end) as fiat_currency,
               trim_scale(d.fiat_value)::text as fiat_value,
               trim_scale(coalesce((x.credit).fiat_rate, case when e.asset = o.token_id then o.asset_price_usd end))::text as fiat_rate
        from entry e
        left join lateral (
            select invoice_id, payout_order_id, tx_hash, fiat_currency, fiat_value from deposit where id = e.source offset 0
        ) s on true
        left join lateral (
            select s.tx_hash, s.fiat_currency, s.fiat_value where e.kind not in ('excess', 'excess_reversal')
        ) d on true
        left join lateral (
            select id, payment_id, order_id from invoice where id = coalesce(s.invoice_id, e.source) offset 0
        ) i on true
        left join lateral (
            select id, order_id, token_id, asset_price_usd
            from payout_order
            where id = case
                when e.debit like 'payout:%' then substr(e.debit, 8)::uuid
                when e.credit like 'payout:%' then substr(e.credit, 8)::uuid
                else s.payout_order_id
            end
            offset 0
        ) o on true
        cross join lateral (
            select case when e.kind in ('excess', 'excess_reversal') then (
                select z
                from deposit z
                where z.invoice_id = i.id and z.booked_as = 'credit' and z.fiat_rate is not null
                order by z.settled_at desc, z.id desc
                limit 1
            ) end as credit
            offset 0
        ) x
        order by e.created_at, e.id
        "#,
        asked.merchant_id,
        &accounts[..],
        after.at,
        after.id,
        asked.range.to,
        most
    )
    .fetch(connection)
    .map_err(StorageError::from)
}
