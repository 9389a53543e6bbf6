//! Deposits: value that reached one of our addresses, from first sight to its booking.

pub mod amounts;
pub mod by_balance;
pub mod in_sight;
pub mod of_order;
pub mod replaced;
pub mod returned;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{PgConnection, StorageError, cursors, numeric};
use crate::{asset::Network, money::BaseUnits};

/// A transfer to one of our addresses, as a watcher found it.
#[derive(Debug, Clone)]
pub struct Sighting {
    pub deposit_key: String,
    pub tx_hash: String,
    pub address_id: Uuid,
    pub invoice_id: Option<Uuid>,
    pub payout_order_id: Option<Uuid>,
    pub token_id: Option<String>,
    pub contract: Option<String>,
    /// `None` when it does not fit 128 bits; `amount_text` has it then.
    pub amount: Option<BaseUnits>,
    pub amount_text: String,
    /// The block, or `None` in the mempool.
    pub block: Option<(u64, String, DateTime<Utc>)>,
    /// Confirmations that this one needs where its network asks for fewer.
    pub min_confirmations: u64,
}

/// A deposit that waits to be settled, or any other for people.
#[derive(Debug, Clone)]
pub struct DepositRow {
    pub id: Uuid,
    pub network: String,
    pub deposit_key: String,
    pub tx_hash: String,
    pub invoice_id: Option<Uuid>,
    pub token_id: Option<String>,
    pub contract: Option<String>,
    pub amount: Option<BaseUnits>,
    pub amount_text: String,
    pub height: Option<i64>,
    pub mined_at: Option<DateTime<Utc>>,
    pub first_seen_at: DateTime<Utc>,
    /// Confirmations that this one needs where its network asks for fewer.
    pub min_confirmations: i64,
    /// When it was booked.
    pub settled_at: Option<DateTime<Utc>>,
    pub state: String,
    pub booked_as: Option<String>,
    /// The reversed deposit whose place it took, because a person accepted what came back.
    pub replaces: Option<Uuid>,
}

/// A deposit that is new, came back, or stands in another block than before.
#[derive(Debug, Clone, Copy)]
pub struct Recorded {
    pub id: Uuid,
    /// It was taken out of the books when it left the chain.
    pub was_reversed: bool,
}

/// Records a sighting. The same movement seen again only learns its new block; what is not final yet is what it is now, for
/// a transaction of a contract may do something else in another block.
///
/// Call it under the invoice's row lock: `first_seen_at` is taken there, so that a deposit and the deadline are always
/// in one order. `None` if nothing is new about it.
pub async fn record(
    connection: &mut PgConnection,
    network: Network,
    sighting: &Sighting,
) -> Result<Option<Recorded>, StorageError> {
    let (height, hash, mined_at) = match &sighting.block {
        Some((height, hash, at)) => {
            (Some(cursors::to_column(*height)?), Some(hash.as_str()), Some(*at))
        }
        None => (None, None, None),
    };
    let row = sqlx::query_as!(
        Recorded,
        r#"
        insert into deposit as d (id, network, deposit_key, tx_hash, address_id, invoice_id, token_id, contract, amount,
            amount_text, height, block_hash, mined_at, first_seen_at, state, payout_order_id, min_confirmations)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, clock_timestamp(), 'seen', $14, $15)
        on conflict (network, deposit_key) do update
        set height = excluded.height, block_hash = excluded.block_hash, mined_at = excluded.mined_at,
            address_id = excluded.address_id, invoice_id = excluded.invoice_id,
            payout_order_id = excluded.payout_order_id, token_id = excluded.token_id,
            contract = excluded.contract, amount = excluded.amount, amount_text = excluded.amount_text,
            state = case when d.state = 'withdrawn' then 'seen' else d.state end,
            min_confirmations = greatest(d.min_confirmations, excluded.min_confirmations),
            orphaned_height = null, updated_at = clock_timestamp()
        -- A mempool entry says nothing about a deposit that already stands in a block.
        where (excluded.height is not null
               and (d.height, d.block_hash) is distinct from (excluded.height, excluded.block_hash)
               or d.state = 'withdrawn')
          and (d.state in ('seen', 'withdrawn')
               or (d.address_id, d.contract, d.amount_text)
                  is not distinct from (excluded.address_id, excluded.contract, excluded.amount_text))
        returning id, state = 'reversed' as "was_reversed!"
        "#,
        Uuid::now_v7(),
        network.name(),
        sighting.deposit_key,
        sighting.tx_hash,
        sighting.address_id,
        sighting.invoice_id,
        sighting.token_id,
        sighting.contract,
        sighting.amount.map(numeric::from_units),
        sighting.amount_text,
        height,
        hash,
        mined_at,
        sighting.payout_order_id,
        cursors::to_column(sighting.min_confirmations)?
    )
    .fetch_optional(connection)
    .await?;
    Ok(row)
}

/// The deposit that was counted under a sighting's key and was another movement, if there is one.
pub async fn contradicted_by(
    connection: &mut PgConnection,
    network: Network,
    sighting: &Sighting,
) -> Result<Option<Uuid>, StorageError> {
    let row = sqlx::query!(
        "select id from deposit
         where network = $1 and deposit_key = $2
           and (address_id, contract, amount_text) is distinct from ($3::uuid, $4::text, $5::text)",
        network.name(),
        sighting.deposit_key,
        sighting.address_id,
        sighting.contract,
        sighting.amount_text
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| row.id))
}

/// Deposits up to `final_height` become final if they have their own confirmations at `head` as well; each puts its message
/// into the outbox, as part of the trace that `traceparent` names.
///
/// Index: `deposit_unsettled`.
pub async fn finalize_up_to(
    connection: &mut PgConnection,
    network: Network,
    (final_height, head): (u64, u64),
    route: &str,
    traceparent: Option<&str>,
) -> Result<u64, StorageError> {
    let done = sqlx::query!(
        r#"
        with confirmed as (
            update deposit
            set state = 'final', updated_at = clock_timestamp()
            where network = $1 and state = 'seen' and height <= $2 and height + min_confirmations <= $5::bigint + 1
            returning id
        )
        insert into outbox (route, body)
        select $3, json_strip_nulls(json_build_object(
            'v', 1, 'type', 'deposit', 'deposit_id', id, 'traceparent', $4::text))::text
        from confirmed
        "#,
        network.name(),
        cursors::to_column(final_height)?,
        route,
        traceparent,
        cursors::to_column(head)?
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

/// Takes deposits above `height` out of their orphaned blocks, of a chain that had reached `lost_head`.
///
/// Unsettled ones lose their block and count as seen until the new chain or the mempool shows them
/// again. That they were mined once proves that they were made by then, so they count as first seen
/// by that block's date. Settled ones keep their booking and remember `lost_head`: most come back
/// at their own height, and until the new chain is as high as the old one was, nobody can say that
/// they are gone. Reversed ones had come back and are gone again. Indices: `deposit_by_height`,
/// `deposit_orphaned`.
pub async fn orphan_above(
    connection: &mut PgConnection,
    network: Network,
    height: u64,
    lost_head: u64,
) -> Result<u64, StorageError> {
    let done = sqlx::query!(
        r#"
        update deposit
        set state = case when state = 'final' then 'seen' else state end,
            orphaned_height = case when state = 'settled' then greatest(orphaned_height, $3::bigint) end,
            height = null, block_hash = null, mined_at = case when state in ('settled', 'reversed') then mined_at end,
            first_seen_at = case when state in ('seen', 'final') then least(first_seen_at, mined_at) else first_seen_at end,
            updated_at = clock_timestamp()
        where network = $1 and (height > $2 or orphaned_height is not null)
          and state in ('seen', 'final', 'settled', 'reversed')
        "#,
        network.name(),
        cursors::to_column(height)?,
        cursors::to_column(lost_head)?
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

/// Height and hash of the highest block up to `height` that a deposit stands in. Index: `deposit_by_height`.
pub async fn newest_block(
    connection: &mut PgConnection,
    network: Network,
    height: u64,
) -> Result<Option<(u64, String)>, StorageError> {
    let row = sqlx::query!(
        r#"
        select height as "height!", block_hash as "hash!"
        from deposit
        where network = $1 and height <= $2 and block_hash is not null
        order by height desc, id desc
        limit 1
        "#,
        network.name(),
        cursors::to_column(height)?
    )
    .fetch_optional(connection)
    .await?;
    row.map(|row| Ok((cursors::from_column(row.height)?, row.hash))).transpose()
}

/// A deposit that stands in no block.
#[derive(Debug, Clone)]
pub struct Unmined {
    pub id: Uuid,
    pub tx_hash: String,
}

/// Deposits that wait for a block, as far as we know. Index: `deposit_unsettled`.
pub async fn unmined(
    connection: &mut PgConnection,
    network: Network,
) -> Result<Vec<Unmined>, StorageError> {
    let rows = sqlx::query_as!(
        Unmined,
        "select id, tx_hash from deposit where network = $1 and state = 'seen' and height is null",
        network.name()
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Withdraws those of `ids` that still stand in no block: they were replaced or dropped. Returns how many.
///
/// What was written after `looked_at` is left alone: whoever wrote it knows more than a look that began then.
pub async fn withdraw(
    connection: &mut PgConnection,
    ids: &[Uuid],
    looked_at: DateTime<Utc>,
) -> Result<usize, StorageError> {
    let done = sqlx::query!(
        r#"
        update deposit
        set state = 'withdrawn', updated_at = clock_timestamp()
        where id = any ($1) and state = 'seen' and height is null and updated_at <= $2
        "#,
        ids,
        looked_at
    )
    .execute(connection)
    .await?;
    Ok(usize::try_from(done.rows_affected()).unwrap_or(usize::MAX))
}

/// Settled deposits that were lost and that the new chain did not bring back, which is up to `head` as high as the old one:
/// those that blocks show, or those that were found by balance.
pub async fn lost_for_good(
    connection: &mut PgConnection,
    network: Network,
    head: u64,
    by_balance: bool,
) -> Result<Vec<DepositRow>, StorageError> {
    let rows = sqlx::query_as!(
        RawDeposit,
        r#"
        select id, network, deposit_key, tx_hash, invoice_id, token_id, contract, amount, amount_text, height, mined_at,
               first_seen_at, min_confirmations, settled_at, state, booked_as, replaces
        from deposit
        where network = $1 and orphaned_height <= $2 and state = 'settled' and (deposit_key like '%@%') = $3
        order by id
        limit 100
        for update
        "#,
        network.name(),
        cursors::to_column(head)?,
        by_balance
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

/// `still_counted`: its owner's sums hold it all the same, because they were decided before it was gone.
pub async fn mark_reversed(
    connection: &mut PgConnection,
    id: Uuid,
    still_counted: bool,
) -> Result<(), StorageError> {
    sqlx::query!(
        "update deposit
         set state = 'reversed', orphaned_height = null, still_counted = $2, updated_at = clock_timestamp()
         where id = $1",
        id,
        still_counted
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Whose address a deposit reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    pub invoice_id: Option<Uuid>,
    pub payout_order_id: Option<Uuid>,
}

/// The owner of a deposit, for whoever got only the deposit's id.
pub async fn owner_of(
    connection: &mut PgConnection,
    id: Uuid,
) -> Result<Option<Owner>, StorageError> {
    let row =
        sqlx::query_as!(Owner, "select invoice_id, payout_order_id from deposit where id = $1", id)
            .fetch_optional(connection)
            .await?;
    Ok(row)
}

/// The first deposits of a payout order, for people. Index: `deposit_by_payout`.
///
/// Nothing is decided by them, for strangers' dust may come before what counts; [`of_order`] is for that.
pub async fn of_payout(
    connection: &mut PgConnection,
    payout_order_id: Uuid,
) -> Result<Vec<DepositRow>, StorageError> {
    let rows = sqlx::query_as!(
        RawDeposit,
        r#"
        select id, network, deposit_key, tx_hash, invoice_id, token_id, contract, amount, amount_text, height, mined_at,
               first_seen_at, min_confirmations, settled_at, state, booked_as, replaces
        from deposit
        where payout_order_id = $1
        order by first_seen_at, id
        limit 1000
        "#,
        payout_order_id
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

/// The deposits of an invoice in the order in which they came: at most a thousand, those of its own
/// token first, so that no stranger's tokens hide what was paid.
///
/// For people and for the buyer's page; a deadline is decided by [`in_sight`]. Index:
/// `deposit_by_invoice`.
pub async fn of_invoice(
    connection: &mut PgConnection,
    invoice_id: Uuid,
) -> Result<Vec<DepositRow>, StorageError> {
    let rows = sqlx::query_as!(
        RawDeposit,
        r#"
        select d.id, d.network, d.deposit_key, d.tx_hash, d.invoice_id, d.token_id, d.contract, d.amount, d.amount_text,
               d.height, d.mined_at, d.first_seen_at, d.min_confirmations, d.settled_at, d.state, d.booked_as, d.replaces
        from deposit d
        join invoice i on i.id = d.invoice_id
        where d.invoice_id = $1
        order by d.token_id is not distinct from i.token_id and d.network is not distinct from i.network desc,
                 d.first_seen_at, d.id
        limit 1000
        "#,
        invoice_id
    )
    .fetch_all(connection)
    .await?;
    let rows: Result<Vec<DepositRow>, _> = rows.into_iter().map(TryInto::try_into).collect();
    let mut rows = rows?;
    rows.sort_by_key(|deposit| (deposit.first_seen_at, deposit.id));
    Ok(rows)
}

/// Final deposits of an invoice that are not booked yet, at most `limit`. Call it under the invoice's row lock.
///
/// They are locked too: a reorganisation must find them either not booked or booked, never in between.
pub async fn lock_unsettled(
    connection: &mut PgConnection,
    invoice_id: Uuid,
    limit: i64,
) -> Result<Vec<DepositRow>, StorageError> {
    let rows = sqlx::query_as!(
        RawDeposit,
        r#"
        select id, network, deposit_key, tx_hash, invoice_id, token_id, contract, amount, amount_text, height, mined_at,
               first_seen_at, min_confirmations, settled_at, state, booked_as, replaces
        from deposit
        where invoice_id = $1 and state = 'final'
        order by first_seen_at, id
        limit $2
        for update
        "#,
        invoice_id,
        limit
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

/// Marks a deposit as booked. The caller locked it while it was final.
pub async fn settle(
    connection: &mut PgConnection,
    id: Uuid,
    booked_as: &str,
) -> Result<(), StorageError> {
    let done = sqlx::query!(
        r#"
        update deposit
        set state = 'settled', booked_as = $2, settled_at = clock_timestamp(), updated_at = clock_timestamp()
        where id = $1 and state = 'final'
        "#,
        id,
        booked_as
    )
    .execute(connection)
    .await?;
    if done.rows_affected() == 1 {
        Ok(())
    } else {
        Err(StorageError::damaged("deposit", "it was settled under another's lock"))
    }
}

/// Final deposits that nobody settled for `older_than_seconds`: their message was lost. Each gets a new one.
pub async fn remind_unsettled(
    connection: &mut PgConnection,
    route: &str,
    older_than_seconds: i32,
    limit: i64,
) -> Result<u64, StorageError> {
    let done = sqlx::query!(
        r#"
        with forgotten as (
            select id
            from deposit
            where state = 'final' and updated_at < now() - $2::int * interval '1 second'
            order by updated_at
            limit $3
            for update skip locked
        ),
        touched as (
            update deposit set updated_at = clock_timestamp()
            from forgotten where deposit.id = forgotten.id
            returning deposit.id
        )
        insert into outbox (route, body)
        select $1, json_build_object('v', 1, 'type', 'deposit', 'deposit_id', id)::text
        from touched
        "#,
        route,
        older_than_seconds,
        limit
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

struct RawDeposit {
    id: Uuid,
    network: String,
    deposit_key: String,
    tx_hash: String,
    invoice_id: Option<Uuid>,
    token_id: Option<String>,
    contract: Option<String>,
    amount: Option<bigdecimal::BigDecimal>,
    amount_text: String,
    height: Option<i64>,
    mined_at: Option<DateTime<Utc>>,
    first_seen_at: DateTime<Utc>,
    min_confirmations: i64,
    settled_at: Option<DateTime<Utc>>,
    state: String,
    booked_as: Option<String>,
    replaces: Option<Uuid>,
}

impl TryFrom<RawDeposit> for DepositRow {
    type Error = StorageError;

    fn try_from(raw: RawDeposit) -> Result<Self, StorageError> {
        let amount = raw.amount.as_ref().map(|a| numeric::to_units("deposit", a)).transpose()?;
        Ok(Self {
            id: raw.id,
            network: raw.network,
            deposit_key: raw.deposit_key,
            tx_hash: raw.tx_hash,
            invoice_id: raw.invoice_id,
            token_id: raw.token_id,
            contract: raw.contract,
            amount,
            amount_text: raw.amount_text,
            height: raw.height,
            mined_at: raw.mined_at,
            first_seen_at: raw.first_seen_at,
            min_confirmations: raw.min_confirmations,
            settled_at: raw.settled_at,
            state: raw.state,
            booked_as: raw.booked_as,
            replaces: raw.replaces,
        })
    }
}
