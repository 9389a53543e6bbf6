//! Comparison of the ledger with the rows that it was booked for, in steps of a bounded number of
//! rows.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{PgConnection, StorageError};
use crate::{asset::Network, ledger::EntryKind};

/// Rows of one step.
pub const STEP: i64 = 20_000;

/// A row that does not agree with the ledger.
#[derive(Debug, Clone)]
pub struct Difference {
    pub subject: String,
    pub detail: String,
}

/// The last row of the step behind `after`; `None` if there is none.
pub async fn deposits_through(
    connection: &mut PgConnection,
    after: Uuid,
) -> Result<Option<Uuid>, StorageError> {
    let last = sqlx::query_scalar!(
        r#"
        select id as "id!" from (select id from deposit where id > $1 order by id limit $2) as step order by id desc limit 1
        "#,
        after,
        STEP
    )
    .fetch_optional(connection)
    .await?;
    Ok(last)
}

/// Booked deposits of `(after, through]` without their entry, and reversed ones without their
/// reversal. Indices: `deposit_pkey`, `ledger_entry_by_source`.
pub async fn deposits(
    connection: &mut PgConnection,
    (after, through): (Uuid, Uuid),
) -> Result<Vec<Difference>, StorageError> {
    let rows = sqlx::query_as!(
        Difference,
        r#"
        select d.id::text as "subject!",
               concat('deposit ', d.tx_hash, ' is ', d.state, ' as ', d.booked_as, ', and the ledger disagrees') as "detail!"
        from deposit d
        where d.id > $1 and d.id <= $2 and d.state in ('settled', 'reversed') and d.booked_as in ('credit', 'late', 'foreign')
          and (
              not exists (
                  select from ledger_entry l
                  where l.source = d.id and l.amount = d.amount and l.asset = d.token_id
                    and l.kind in ('deposit', 'late_deposit', 'foreign_deposit', 'payout_deposit', 'x402_payment')
              )
              -- What was foreign to a payout order stays booked until an operator has looked.
              or (d.state = 'reversed' and not (d.booked_as = 'foreign' and d.payout_order_id is not null)) <> exists (
                  select from ledger_entry l where l.source = d.id and l.kind = 'reversal'
              )
          )
        order by d.id
        limit 100
        "#,
        after,
        through
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Entries of `(after, through]` that book no deposit that was booked. Index: `ledger_entry_pkey`.
pub async fn entries_of_nothing(
    connection: &mut PgConnection,
    (after, through): (i64, i64),
) -> Result<Vec<Difference>, StorageError> {
    let rows = sqlx::query_as!(
        Difference,
        r#"
        select l.id::text as "subject!", concat('entry ', l.id, ' books a deposit that was never booked') as "detail!"
        from ledger_entry l
        where l.id > $1 and l.id <= $2
          and l.kind in ('deposit', 'late_deposit', 'foreign_deposit', 'payout_deposit', 'x402_payment', 'reversal')
          and not exists (select from deposit d where d.id = l.source and d.state in ('settled', 'reversed'))
        order by l.id
        limit 100
        "#,
        after,
        through
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// The last invoice of the step behind `after`.
pub async fn invoices_through(
    connection: &mut PgConnection,
    after: Uuid,
) -> Result<Option<Uuid>, StorageError> {
    let last = sqlx::query_scalar!(
        r#"
        select id as "id!" from (select id from invoice where id > $1 order by id limit $2) as step order by id desc limit 1
        "#,
        after,
        STEP
    )
    .fetch_optional(connection)
    .await?;
    Ok(last)
}

/// Invoices of `(after, through]` whose received amount is not that of their deposits. One that
/// left the chain after its invoice had ended stays counted until it is back. Indices:
/// `invoice_pkey`, `deposit_by_invoice`.
pub async fn invoices(
    connection: &mut PgConnection,
    (after, through): (Uuid, Uuid),
) -> Result<Vec<Difference>, StorageError> {
    let rows = sqlx::query_as!(
        Difference,
        r#"
        select i.payment_id as "subject!",
               concat('invoice ', i.payment_id, ' has received ', i.received, ', its deposits sum to ', b.sum) as "detail!"
        from invoice i
        cross join lateral (
            select coalesce(sum(d.amount), 0) as sum
            from deposit d
            where d.invoice_id = i.id and d.booked_as in ('credit', 'late')
              and (d.state = 'settled'
                   or d.state = 'reversed' and d.still_counted
                      and not exists (select from deposit n where n.replaces = d.id and n.state in ('settled', 'reversed')))
        ) b
        where i.id > $1 and i.id <= $2 and i.received <> b.sum
        order by i.id
        limit 100
        "#,
        after,
        through
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// The last payout order of the step behind `after`.
pub async fn payouts_through(
    connection: &mut PgConnection,
    after: Uuid,
) -> Result<Option<Uuid>, StorageError> {
    let last = sqlx::query_scalar!(
        r#"
        select id as "id!" from (select id from payout_order where id > $1 order by id limit $2) as step order by id desc limit 1
        "#,
        after,
        STEP
    )
    .fetch_optional(connection)
    .await?;
    Ok(last)
}

/// Payout orders of `(after, through]` whose remaining amount is not their account's balance.
/// Indices: `payout_order_pkey`, `ledger_entry_by_credit`, `ledger_entry_by_debit`,
/// `deposit_by_payout`.
pub async fn payouts(
    connection: &mut PgConnection,
    (after, through): (Uuid, Uuid),
) -> Result<Vec<Difference>, StorageError> {
    let rows = sqlx::query_as!(
        Difference,
        r#"
        select o.order_id as "subject!",
               concat('payout order ', o.order_id, ' has ', r.has, ' left, its account ', b.balance) as "detail!"
        from payout_order o
        cross join lateral (
            select coalesce((select sum(l.amount) from ledger_entry l
                             where l.credit = 'payout:' || o.id and l.credit not like 'custody:%' and l.asset = o.token_id), 0)
                   - coalesce((select sum(l.amount) from ledger_entry l
                               where l.debit = 'payout:' || o.id and l.debit not like 'custody:%' and l.asset = o.token_id), 0)
                   as balance
        ) b
        cross join lateral (
            select o.credited + o.late - o.kept - o.paid - o.returned
                   - coalesce(sum(coalesce(d.counted_units, d.amount)), 0) as has
            from deposit d
            where d.payout_order_id = o.id and d.state = 'reversed' and d.still_counted
              and not exists (select from deposit n where n.replaces = d.id and n.state in ('settled', 'reversed'))
        ) r
        where o.id > $1 and o.id <= $2 and r.has <> b.balance
        order by o.id
        limit 100
        "#,
        after,
        through
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// The last settlement of x402 of the step behind `after`.
pub async fn settlements_through(
    connection: &mut PgConnection,
    after: Uuid,
) -> Result<Option<Uuid>, StorageError> {
    let last = sqlx::query_scalar!(
        r#"
        select id as "id!" from (select id from x402_settlement where id > $1 order by id limit $2) as step
        order by id desc limit 1
        "#,
        after,
        STEP
    )
    .fetch_optional(connection)
    .await?;
    Ok(last)
}

/// Settlements of `(after, through]` that were final an hour ago and brought no booked deposit, and
/// those whose gas is not what the ledger has. Indices: `x402_settlement_pkey`,
/// `x402_version_pkey`, `deposit_by_transaction`, `ledger_entry_by_source`.
pub async fn settlements(
    connection: &mut PgConnection,
    (after, through): (Uuid, Uuid),
) -> Result<Vec<Difference>, StorageError> {
    let rows = sqlx::query_as!(
        Difference,
        r#"
        select s.id::text as "subject!", detail as "detail!"
        from x402_settlement s
        cross join lateral (
            select concat('settlement ', s.tx_hash, ' on ', s.network, ' is settled, and no deposit of it is booked') as detail
            where s.state = 'settled' and s.ended_at < now() - interval '1 hour'
              and not exists (
                  select from x402_version v
                  join deposit d on d.network = s.network and d.tx_hash = v.tx_hash
                  where v.settlement_id = s.id and d.address_id = s.address_id and d.amount = s.amount
                    and d.booked_as in ('credit', 'late', 'foreign')
              )
            union all
            select concat('settlement ', s.tx_hash, ' on ', s.network, ' took ', coalesce(s.fee, 0), ' for gas, and the ledger has ',
                          gas.booked)
            from (select coalesce(sum(l.amount), 0) as booked from ledger_entry l
                  where l.source = coalesce(s.booked_as, s.id) and l.kind = 'network_fee') gas
            where gas.booked <> coalesce(s.fee, 0)
        ) as difference
        where s.id > $1 and s.id <= $2
        order by s.id, detail
        limit 100
        "#,
        after,
        through
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// The last transaction of sweeps of the step behind `after`.
pub async fn sweeps_through(
    connection: &mut PgConnection,
    after: Uuid,
) -> Result<Option<Uuid>, StorageError> {
    let last = sqlx::query_scalar!(
        r#"
        select id as "id!" from (select id from sweep_transaction where id > $1 order by id limit $2) as step
        order by id desc limit 1
        "#,
        after,
        STEP
    )
    .fetch_optional(connection)
    .await?;
    Ok(last)
}

/// Transactions of sweeps of `(after, through]` whose entry is missing, is another, or is there
/// though they moved nothing, and those whose fee is not what the ledger has. Indices:
/// `sweep_transaction_pkey`, `ledger_entry_by_source`, `sweep_coin_pkey`.
pub async fn sweeps(
    connection: &mut PgConnection,
    (after, through): (Uuid, Uuid),
) -> Result<Vec<Difference>, StorageError> {
    let rows = sqlx::query_as!(
        Difference,
        r#"
        select s.id::text as "subject!", detail as "detail!"
        from sweep_transaction s
        cross join lateral (
            select concat('sweep ', s.tx_hash, ' on ', s.network, ' is ', s.state, ' with ', s.amount,
                          ' base units, and the ledger disagrees') as detail
            where (s.state = 'confirmed') <> exists (
                      select from ledger_entry l
                      where l.source = s.id and l.kind = 'sweep' and l.amount = s.amount and l.asset = s.token_id
                        and l.debit = 'treasury_custody:' || s.network and l.credit = 'custody:' || s.network
                  )
               or s.state <> 'confirmed' and exists (select from ledger_entry l where l.source = s.id and l.kind = 'sweep')
            union all
            select concat('sweep ', s.tx_hash, ' on ', s.network, ' took ', coalesce(s.fee, 0), ' for the network, and the ledger has ',
                          fee.booked)
            from (select coalesce(sum(l.amount), 0) as booked,
                         coalesce(bool_and(l.debit = 'treasury' and l.credit = case
                             when s.relayed then 'sweep_gas:' else 'custody:' end || s.network), true) as is_right
                  from ledger_entry l where l.source = s.id and l.kind = 'network_fee') fee
            where fee.booked <> coalesce(s.fee, 0) or not fee.is_right
            union all
            select concat('sweep ', s.tx_hash, ' on ', s.network, ' moves ', s.amount, ', and takes ', taken.sum, ' from its addresses')
            from (select coalesce(sum(c.amount), 0) as sum from sweep_coin c where c.transaction_id = s.id) taken
            where taken.sum <> s.amount + case when s.sender is null then s.fee_max else 0 end
        ) as difference
        where s.id > $1 and s.id <= $2
        order by s.id, detail
        limit 100
        "#,
        after,
        through
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Entries of `(after, through]` that book a sweep that is none, or use the accounts of sweeps for
/// something else. Index: `ledger_entry_pkey`.
pub async fn sweeps_of_nothing(
    connection: &mut PgConnection,
    (after, through): (i64, i64),
) -> Result<Vec<Difference>, StorageError> {
    let rows = sqlx::query_as!(
        Difference,
        r#"
        select l.id::text as "subject!",
               concat('entry ', l.id, ' from ', l.debit, ' to ', l.credit, ' books a sweep that there is not') as "detail!"
        from ledger_entry l
        where l.id > $1 and l.id <= $2
          and (l.kind = 'sweep' or l.debit like 'treasury\_custody:%' or l.credit like 'treasury\_custody:%'
               or l.debit like 'sweep\_gas:%' or l.credit like 'sweep\_gas:%')
          and not exists (
              select from sweep_transaction s
              where s.id = l.source
                and (l.kind = 'sweep' and l.debit = 'treasury_custody:' || s.network
                     or l.kind = 'network_fee' and s.relayed and l.debit = 'treasury' and l.credit = 'sweep_gas:' || s.network)
          )
        order by l.id
        limit 100
        "#,
        after,
        through
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Balance of one account in one asset. Signed base units as digits.
#[derive(Debug, Clone)]
pub struct Balance {
    pub asset: String,
    pub units: String,
    pub entries: i64,
}

/// The balances of an account, of what was booked before `as_of`. Custody accounts have no index:
/// they are read from the whole ledger.
pub async fn balances(
    connection: &mut PgConnection,
    account: &str,
    as_of: Option<DateTime<Utc>>,
) -> Result<Vec<Balance>, StorageError> {
    let rows = sqlx::query_as!(
        Balance,
        r#"
        with side as (
            select asset, amount from ledger_entry
            where credit = $1 and credit not like 'custody:%' and ($2::timestamptz is null or created_at < $2)
            union all
            select asset, -amount from ledger_entry
            where debit = $1 and debit not like 'custody:%' and ($2::timestamptz is null or created_at < $2)
            union all
            select asset, case $1 when credit then amount else -amount end from ledger_entry
            where $1 like 'custody:%' and $1 in (credit, debit) and ($2::timestamptz is null or created_at < $2)
        )
        select asset as "asset!", sum(amount)::text as "units!", count(*) as "entries!"
        from side
        group by asset
        order by asset
        "#,
        account,
        as_of
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// An entry with the names of what caused it.
#[derive(Debug, Clone)]
pub struct Explained {
    pub id: i64,
    pub at: DateTime<Utc>,
    pub kind: EntryKind,
    pub asset: String,
    pub debit: String,
    pub credit: String,
    /// Base units as digits.
    pub amount: String,
    pub payment_id: Option<String>,
    pub order_id: Option<String>,
    pub payout_order_id: Option<String>,
    pub tx_hash: Option<String>,
}

/// Entries shown at once.
pub const SHOWN: i64 = 1_000;

/// The entries of an account, an invoice, a payout order or a transaction, the oldest first, before
/// `as_of`: the first thousand. `reference` is an account's name, a `payment_id`, a payout order's
/// id or a transaction's hash.
pub async fn explain(
    connection: &mut PgConnection,
    reference: &str,
    as_of: Option<DateTime<Utc>>,
) -> Result<Vec<Explained>, StorageError> {
    let networks = Network::ALL.map(|network| network.name().to_owned());
    let rows = sqlx::query_as!(
        Explained,
        r#"
        with source as (
            select i.id from invoice i where i.payment_id = $1
            union
            select d.id from deposit d join invoice i on i.id = d.invoice_id where i.payment_id = $1
            union
            select d.id from deposit d where d.network = any($4) and d.tx_hash = $1
            union
            select s.id from sweep_transaction s where s.network = any($4) and s.tx_hash = $1
            union
            select unnest(array[p.id, p.booked_as])
            from payout_version v
            join payout_payment p on p.id = v.payment_id
            where v.tx_hash = $1
        ),
        chosen as (
            select l.id from ledger_entry l where l.source in (select id from source)
            union
            select l.id from ledger_entry l where l.credit = $1 and l.credit not like 'custody:%'
            union
            select l.id from ledger_entry l where l.debit = $1 and l.debit not like 'custody:%'
            union
            select l.id from ledger_entry l where $1 like 'custody:%' and $1 in (l.credit, l.debit)
            union
            select l.id from payout_order o join ledger_entry l on l.credit = 'payout:' || o.id
            where o.order_id = $1 and l.credit not like 'custody:%'
            union
            select l.id from payout_order o join ledger_entry l on l.debit = 'payout:' || o.id
            where o.order_id = $1 and l.debit not like 'custody:%'
        )
        select l.id, l.created_at as at, l.kind as "kind: _", l.asset, l.debit, l.credit, l.amount::text as "amount!",
               i.payment_id as "payment_id?", i.order_id, o.order_id as "payout_order_id?",
               coalesce(d.tx_hash, p.tx_hash, s.tx_hash) as tx_hash
        from ledger_entry l
        left join deposit d on d.id = l.source
        left join invoice i on i.id = coalesce(d.invoice_id, l.source)
        left join payout_payment p on p.id = l.source
        left join sweep_transaction s on s.id = l.source
        left join payout_order o on o.id = coalesce(d.payout_order_id, p.order_id, case
            when l.debit like 'payout:%' then substr(l.debit, 8)::uuid
            when l.credit like 'payout:%' then substr(l.credit, 8)::uuid
        end)
        where l.id in (select id from chosen) and ($2::timestamptz is null or l.created_at < $2)
        order by l.id
        limit $3
        "#,
        reference,
        as_of,
        SHOWN,
        &networks[..]
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}
