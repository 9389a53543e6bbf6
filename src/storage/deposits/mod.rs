//! Deposits: value that reached one of our addresses, from first sight to its booking.

pub mod amounts;
pub mod by_balance;
pub mod in_sight;
pub mod left_out;
pub mod of_order;
pub mod of_payment;
pub mod replaced;
pub mod returned;
pub mod sightings;
pub mod unmined;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{PgConnection, StorageError, cursors};
use crate::{
    asset::{Catalogue, Fiat, Network},
    deposit::{BookedAs, FoundBy, State},
    money::BaseUnits,
};

/// A deposit that waits to be settled, or any other for people.
#[derive(Debug, Clone)]
pub struct DepositRow {
    pub id: Uuid,
    pub network: Network,
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
    pub state: State,
    pub booked_as: Option<BookedAs>,
    /// The reversed deposit whose place it took, because an operator accepted the returned one.
    pub replaces: Option<Uuid>,
    /// No transaction showed it, so `tx_hash` names none.
    pub found_by_balance: bool,
}

/// Query for deposits, selected and ordered by the end of the query.
macro_rules! deposit_rows {
    ($chosen:tt, $($argument:expr),+ $(,)?) => {
        sqlx::query_as!(
            $crate::storage::deposits::DepositRow,
            r#"
            select d.id, d.network as "network: _", d.deposit_key, d.tx_hash, d.invoice_id, d.token_id, d.contract,
                   d.amount as "amount: _", d.amount_text, d.height, d.mined_at, d.first_seen_at, d.min_confirmations,
                   d.settled_at, d.state as "state: _", d.booked_as as "booked_as: _", d.replaces,
                   d.found_by_balance
            from deposit d
            "# + $chosen,
            $($argument),+
        )
    };
}
pub(in crate::storage) use deposit_rows;

/// Deposits up to `final_height` become final if they have their own confirmations at `head` as
/// well. Each invoice and each order that they belong to gets one message about one of them, as
/// part of the trace that `traceparent` names: all that is final is booked at once. Returns how
/// many deposits became final.
///
/// One call takes at most `limit` of them, so that a flood of deposits stays within the time of a
/// statement; call it until it took fewer. Index: `deposit_unsettled`.
pub async fn finalize_up_to(
    connection: &mut PgConnection,
    network: Network,
    (final_height, head): (u64, u64),
    (route, traceparent): (&str, Option<&str>),
    limit: i64,
) -> Result<u64, StorageError> {
    let done = sqlx::query_scalar!(
        r#"
        with confirmed as (
            update deposit
            set state = 'final', final_at = clock_timestamp(), updated_at = clock_timestamp()
            where id = any (array(
                select id from deposit
                where network = $1 and state = 'seen' and height <= $2 and height + min_confirmations <= $5::bigint + 1
                limit $6))
            returning id, coalesce(invoice_id, payout_order_id, address_id) as owner
        ),
        told as (
            insert into outbox (route, body)
            select $3, json_strip_nulls(json_build_object(
                'v', 1, 'type', 'deposit', 'deposit_id', one.id, 'traceparent', $4::text))::text
            from (select distinct on (owner) id from confirmed order by owner) one
        )
        select count(*) as "count!" from confirmed
        "#,
        network.name(),
        cursors::to_column(final_height)?,
        route,
        traceparent,
        cursors::to_column(head)?,
        limit
    )
    .fetch_one(connection)
    .await?;
    Ok(done.unsigned_abs())
}

/// Takes deposits above `height` out of their orphaned blocks, of a chain that had reached
/// `lost_head`.
///
/// Unsettled ones lose their block and count as seen until the new chain or the mempool shows them
/// again. That they were mined once proves that they were made by then, so they count as first seen
/// by that block's date. Settled ones keep their booking and remember `lost_head`: most come back
/// at their own height, and until the new chain is as high as the old one was, their loss is not
/// certain. Reversed ones had come back and are gone again. Indices: `deposit_by_height`,
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
            final_at = case when state <> 'final' then final_at end,
            orphaned_height = case when state = 'settled' then greatest(orphaned_height, $3::bigint) end,
            height = null, block_hash = null, mined_at = case when state in ('settled', 'reversed') then mined_at end,
            first_seen_at = case when state in ('seen', 'final') then least(first_seen_at, mined_at) else first_seen_at end,
            left_block_at = case when state in ('seen', 'final') then clock_timestamp() else left_block_at end,
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

/// Height and hash of the highest block up to `height` that a deposit stands in. Index:
/// `deposit_by_height`.
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

/// Withdraws those of `ids` that still stand in no block: they were replaced or dropped. Returns
/// how many.
///
/// Rows written after `looked_at` are left alone: their writer knows more than a look that began
/// then.
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

/// Settled deposits that were lost and that the new chain did not bring back, which is up to `head`
/// as high as the old one: those that blocks show, or those that were found by balance.
pub async fn lost_for_good(
    connection: &mut PgConnection,
    network: Network,
    head: u64,
    found_by: FoundBy,
) -> Result<Vec<DepositRow>, StorageError> {
    let rows = deposit_rows!(
        "where d.network = $1 and d.orphaned_height <= $2 and d.state = 'settled' and d.found_by_balance = $3
         order by d.id limit 100 for update",
        network.name(),
        cursors::to_column(head)?,
        found_by.is_balance()
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// `still_counted`: its owner's sums hold it all the same, because they were decided before it was
/// gone.
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

/// The owner of a deposit, for a caller that got only the deposit's id.
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

/// The address of a deposit that neither an invoice nor an order owns.
pub async fn address_without_owner(
    connection: &mut PgConnection,
    id: Uuid,
) -> Result<Option<Uuid>, StorageError> {
    let address = sqlx::query_scalar!(
        "select address_id from deposit where id = $1 and invoice_id is null and payout_order_id is null",
        id
    )
    .fetch_optional(connection)
    .await?;
    Ok(address)
}

/// The first deposits of a payout order, for people. Index: `deposit_by_payout`.
///
/// Nothing is decided by them, for strangers' dust may come before deposits that count;
/// [`of_order`] is for that.
pub async fn of_payout(
    connection: &mut PgConnection,
    payout_order_id: Uuid,
) -> Result<Vec<DepositRow>, StorageError> {
    let rows = deposit_rows!(
        "where d.payout_order_id = $1 order by d.first_seen_at, d.id limit 1000",
        payout_order_id
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// The deposits of an invoice in the order in which they came: at most a thousand, those of its own
/// token first, so that no stranger's tokens hide the buyer's payment.
///
/// For people and for the buyer's page; a deadline is decided by [`in_sight`]. Index:
/// `deposit_by_invoice`.
pub async fn of_invoice(
    connection: &mut PgConnection,
    invoice_id: Uuid,
) -> Result<Vec<DepositRow>, StorageError> {
    let mut rows = deposit_rows!(
        "join invoice i on i.id = d.invoice_id
         where d.invoice_id = $1
         order by d.token_id is not distinct from i.token_id and d.network is not distinct from i.network desc,
                  d.first_seen_at, d.id
         limit 1000",
        invoice_id
    )
    .fetch_all(connection)
    .await?;
    rows.sort_by_key(|deposit| (deposit.first_seen_at, deposit.id));
    Ok(rows)
}

/// Final deposits of an invoice that are not booked yet, at most `limit`, the oldest first. Call it
/// under the invoice's row lock. Index: `deposit_invoice_final`.
///
/// They are locked too: a reorganisation must find them either not booked or booked, never in
/// between.
pub async fn lock_unsettled(
    connection: &mut PgConnection,
    invoice_id: Uuid,
    limit: i64,
) -> Result<Vec<DepositRow>, StorageError> {
    let rows = deposit_rows!(
        "where d.invoice_id = $1 and d.state = 'final'
         order by d.first_seen_at, d.id limit $2 for update",
        invoice_id,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// The same of an address that no invoice and no order owns. Index: `deposit_by_address`.
pub async fn lock_final_at(
    connection: &mut PgConnection,
    address_id: Uuid,
    limit: i64,
) -> Result<Vec<DepositRow>, StorageError> {
    let rows = deposit_rows!(
        "where d.address_id = $1 and d.invoice_id is null and d.payout_order_id is null and d.state = 'final'
         order by d.first_seen_at, d.id limit $2 for update",
        address_id,
        limit
    )
    .fetch_all(connection)
    .await?;
    Ok(rows)
}

/// Marks a deposit as booked, with its value in `fiat` at the stored rate, however old: the rate's
/// time stands beside it. Without a rate, or for a token that we do not know, the value stays null.
/// The caller locked the deposit while it was final.
pub async fn settle(
    connection: &mut PgConnection,
    deposit: &DepositRow,
    booked_as: BookedAs,
    fiat: Fiat,
) -> Result<(), StorageError> {
    // An amount beyond 128 bits is known by its digits alone and has no value either.
    let token = deposit.token_id.as_deref().filter(|_| deposit.amount.is_some());
    let currency = token.and_then(|token_id| Catalogue::get().by_token_id(token_id));
    let done = sqlx::query!(
        r#"
        update deposit d
        set state = 'settled', booked_as = $2, settled_at = clock_timestamp(), updated_at = clock_timestamp(),
            fiat_currency = r.fiat, fiat_value = round(d.amount * r.price / 10::numeric ^ $5::integer, 8),
            fiat_rate = r.price, fiat_rate_source = r.source, fiat_rate_at = r.observed_at
        from (select) as one
        left join rate r on r.symbol = $3 and r.fiat = $4
        where d.id = $1 and d.state = 'final'
        "#,
        deposit.id,
        booked_as.as_str(),
        currency.map(|currency| currency.symbol.to_ascii_uppercase()),
        fiat.code(),
        currency.map_or(0, |currency| i32::from(currency.decimals))
    )
    .execute(connection)
    .await?;
    if done.rows_affected() == 1 {
        Ok(())
    } else {
        Err(StorageError::damaged("deposit", "it was settled under another's lock"))
    }
}

/// Returns whether a deposit was booked, even if it has left the chain since.
pub async fn is_booked(connection: &mut PgConnection, id: Uuid) -> Result<bool, StorageError> {
    let row = sqlx::query!(
        r#"select exists (select from deposit where id = $1 and booked_as is not null) as "booked!""#,
        id
    )
    .fetch_one(connection)
    .await?;
    Ok(row.booked)
}

/// Invoices and orders with final deposits that were not settled for `older_than_seconds`: their
/// message was lost. Each of the `limit` that wait longest gets a new one.
pub async fn remind_unsettled(
    connection: &mut PgConnection,
    route: &str,
    older_than_seconds: i32,
    limit: i64,
) -> Result<u64, StorageError> {
    let done = sqlx::query!(
        r#"
        with oldest as (
            select distinct on (coalesce(invoice_id, payout_order_id, address_id)) id, updated_at
            from deposit
            where state = 'final' and updated_at < now() - $2::int * interval '1 second'
            order by coalesce(invoice_id, payout_order_id, address_id), updated_at, id
        ),
        forgotten as (
            select id
            from deposit
            where state = 'final' and id = any (array(select id from oldest order by updated_at limit $3))
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
