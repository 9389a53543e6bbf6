//! Deposit addresses: the next derivation index, and the watched addresses.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{PgConnection, StorageError, cursors::to_column, numeric};
use crate::{asset::Family, money::BaseUnits};

/// Alert about an address whose starting balance no node can serve. Its subject is the address's
/// id.
pub const START_UNKNOWN: &str = "starting_balance_unknown";

/// An address ready to be given out to one owner.
#[derive(Debug, Clone)]
pub struct NewAddress {
    pub id: Uuid,
    pub family: Family,
    pub derivation_index: i64,
    pub address: String,
    pub match_key: String,
}

/// A watched address and its owner.
#[derive(Debug, Clone)]
pub struct WatchedAddress {
    pub id: Uuid,
    pub match_key: String,
    pub invoice_id: Option<Uuid>,
    pub payout_order_id: Option<Uuid>,
    pub created_at: DateTime<Utc>,
}

/// Position of a reader of addresses: rows of all transactions that had ended by then are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadUpTo {
    /// The lowest number of a transaction that was still open.
    transaction: i64,
    /// Start time of the server that assigned the numbers: another server, or the same after a
    /// restart, may count differently.
    server_started_at: DateTime<Utc>,
}

/// The next derivation index of a family. Never given out twice: sequences do not roll back.
pub async fn next_index(
    connection: &mut PgConnection,
    family: Family,
) -> Result<i64, StorageError> {
    let row = sqlx::query!(
        r#"select nextval(('address_index_' || $1::text)::regclass) as "index!""#,
        family.name()
    )
    .fetch_one(connection)
    .await?;
    Ok(row.index)
}

/// Gives an address out to an invoice.
pub async fn insert(
    connection: &mut PgConnection,
    address: &NewAddress,
    network: &str,
    invoice_id: Uuid,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        insert into deposit_address (id, family, address, match_key, derivation_index, network, invoice_id, issued_height)
        values ($1, $2, $3, $4, $5, $6, $7, (select height from chain_cursor where network = $6))
        "#,
        address.id,
        address.family.name(),
        address.address,
        address.match_key,
        address.derivation_index,
        network,
        invoice_id
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Gives an address out to a payout order.
pub async fn insert_for_payout(
    connection: &mut PgConnection,
    address: &NewAddress,
    network: &str,
    payout_order_id: Uuid,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        insert into deposit_address (id, family, address, match_key, derivation_index, network, payout_order_id,
            issued_height)
        values ($1, $2, $3, $4, $5, $6, $7, (select height from chain_cursor where network = $6))
        "#,
        address.id,
        address.family.name(),
        address.address,
        address.match_key,
        address.derivation_index,
        network,
        payout_order_id
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Time at which the oldest address was given out that a watcher of `network` could not know of,
/// because none had begun. Addresses older than a day are left out: their buyers are gone, and the
/// chain since then is long.
///
/// It reads the whole table, once in a network's life.
pub async fn oldest_unwatched(
    connection: &mut PgConnection,
    network: &str,
) -> Result<Option<DateTime<Utc>>, StorageError> {
    let oldest = sqlx::query_scalar!(
        r#"
        select min(created_at)
        from deposit_address
        where network = $1 and issued_height is null and created_at > now() - interval '1 day'
        "#,
        network
    )
    .fetch_one(connection)
    .await?;
    Ok(oldest)
}

/// Data that shows a reader of addresses if there may be new ones.
#[derive(Debug, Clone, Copy)]
pub struct Outlook {
    /// By the database's clock.
    pub now: DateTime<Utc>,
    /// All transactions with lower numbers have ended.
    pub lowest: i64,
    /// The next transaction gets this number.
    pub next: i64,
    /// When the newest address of the family was given out.
    pub youngest: Option<DateTime<Utc>>,
}

/// Index: `deposit_address_by_age`. The limit is a literal, so that PostgreSQL makes one plan for
/// all calls. For [`watched_since`] it makes a new plan each time, which takes ten times as long as
/// its execution: call this first.
pub async fn outlook(
    connection: &mut PgConnection,
    family: Family,
) -> Result<Outlook, StorageError> {
    let row = sqlx::query!(
        r#"
        select now() as "now!", pg_snapshot_xmin(pg_current_snapshot())::text::bigint as "lowest!",
               pg_snapshot_xmax(pg_current_snapshot())::text::bigint as "next!",
               (select created_at from deposit_address where family = $1 order by created_at desc limit 1) as youngest
        "#,
        family.name()
    )
    .fetch_one(connection)
    .await?;
    Ok(Outlook { now: row.now, lowest: row.lowest, next: row.next, youngest: row.youngest })
}

/// Addresses of a family newer than `since`, oldest first, without those that a reader with
/// position `up_to` has seen, and the position after this read.
///
/// A row becomes visible when its transaction commits, which may be after a newer row, so the
/// caller goes back some time with each read. Rows seen within that time are excluded by the number
/// of the transaction that wrote them: all transactions below `up_to` had ended. A savepoint has a
/// higher number than its transaction, so no row of an open transaction is lost.
///
/// Index: `deposit_address_by_age`.
pub async fn watched_since(
    connection: &mut PgConnection,
    family: Family,
    (since, after): (DateTime<Utc>, Uuid),
    up_to: Option<ReadUpTo>,
    limit: i64,
) -> Result<(Vec<WatchedAddress>, ReadUpTo), StorageError> {
    let rows = sqlx::query!(
        r#"
        select s.lowest as "lowest!", s.started as "started!", a.id as "id?", a.match_key as "match_key?",
               a.invoice_id as "invoice_id?", a.payout_order_id as "payout_order_id?", a.created_at as "created_at?"
        from (select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as lowest,
                     pg_snapshot_xmax(pg_current_snapshot())::text::bigint as next,
                     pg_postmaster_start_time() as started) s
        left join lateral (
            select id, match_key, invoice_id, payout_order_id, created_at
            from deposit_address
            where family = $1 and (created_at, id) > ($2, $3)
              -- Rows keep 32 bits of the number. Of these the newest is the highest below the next.
              and (s.started is distinct from $5
                   or s.next - (s.next - xmin::text::bigint) % 4294967296 >= $6)
            order by created_at, id
            limit $4
        ) a on true
        order by a.created_at, a.id
        "#,
        family.name(),
        since,
        after,
        limit,
        up_to.map(|up_to| up_to.server_started_at),
        up_to.map_or(0, |up_to| up_to.transaction)
    )
    .fetch_all(connection)
    .await?;
    let first = rows.first().ok_or_else(|| StorageError::damaged("deposit_address", "no snapshot"));
    let (transaction, server_started_at) = first.map(|row| (row.lowest, row.started))?;
    let addresses = rows.into_iter().filter_map(|row| {
        let (invoice_id, payout_order_id) = (row.invoice_id, row.payout_order_id);
        let (id, match_key, created_at) = (row.id?, row.match_key?, row.created_at?);
        Some(WatchedAddress { id, match_key, invoice_id, payout_order_id, created_at })
    });
    Ok((addresses.collect(), ReadUpTo { transaction, server_started_at }))
}

/// An address whose native balance is compared with the known deposits.
#[derive(Debug, Clone)]
pub struct BalanceTarget {
    pub id: Uuid,
    pub match_key: String,
    /// The watcher's height when the address was given out; `None` if the network had never been
    /// watched.
    pub issued_height: Option<u64>,
    /// Balance of the address at that time; `None` until it was read.
    pub start: Option<BaseUnits>,
    /// Value that arrives afterwards is late.
    pub deadline: DateTime<Utc>,
    /// Sum of the native deposits known at this address on this network. It includes a deposit that
    /// was reversed and came back: an operator decides on crediting it, and the balance must not.
    pub known: BaseUnits,
}

/// Addresses of open invoices on `network`, with the native amount already known to have arrived
/// there; before them those of any invoice with a deposit found by balance that lost its block,
/// since no block will show that its value is there again.
///
/// Other closed invoices are left out: value can reach them undetected only by an internal
/// transfer, which their last look before the end and the operator's reconciliation cover. The
/// exception are addresses whose starting balance an operator has just recorded. Index:
/// `deposit_found_by_balance_gone`, `deposit_address_compared`.
pub async fn balance_targets(
    connection: &mut PgConnection,
    network: &str,
    native_token_id: &str,
    limit: i64,
) -> Result<Vec<BalanceTarget>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select a.id as "id!", a.match_key as "match_key!", a.issued_height, a.starting_balance, a.deadline_at as "deadline!",
               coalesce((
                   select sum(d.amount)
                   from deposit d
                   where d.address_id = a.id and d.network = $1 and d.contract is null
                     and d.state in ('seen', 'final', 'settled', 'reversed') and d.height is not null
               ), 0) as "known!"
        from (
            select distinct a.id, a.match_key, a.issued_height, a.starting_balance, i.deadline_at, 0 as turn
            from deposit d
            join deposit_address a on a.id = d.address_id
            join invoice i on i.id = a.invoice_id
            where d.network = $1 and d.height is null and d.found_by_balance and d.state in ('settled', 'reversed')
              and not exists (select from deposit next where next.replaces = d.id)
            union all
            select a.id, a.match_key, a.issued_height, a.starting_balance, i.deadline_at, 1
            from invoice i
            join deposit_address a on a.invoice_id = i.id
            where i.network = $1 and i.contract is null and i.status in ('pending', 'partial')
            union all
            select a.id, a.match_key, a.issued_height, a.starting_balance, i.deadline_at, 1
            from deposit_address a
            join invoice i on i.id = a.invoice_id
            where a.network = $1 and a.compared_until > now() and i.network = $1 and i.contract is null
            union all
            -- Only before anything is sent from it: afterwards a balance tells nothing of what arrived.
            select a.id, a.match_key, a.issued_height, a.starting_balance, o.expires_at, 1
            from payout_order o
            join deposit_address a on a.payout_order_id = o.id
            where o.network = $1 and o.token_id = $3 and o.state = 'pending_deposit'
        ) a
        order by a.turn, a.deadline_at, a.id
        limit $2
        "#,
        network,
        limit,
        native_token_id
    )
    .fetch_all(connection)
    .await?;
    let mut seen = HashSet::new();
    rows.into_iter()
        .filter(|row| seen.insert(row.id))
        .map(|row| {
            let table = "deposit_address";
            let start = row.starting_balance.map(|start| numeric::to_units(table, &start));
            let height = row.issued_height.map(u64::try_from).transpose();
            Ok(BalanceTarget {
                id: row.id,
                match_key: row.match_key,
                issued_height: height
                    .map_err(|_| StorageError::damaged(table, "a height is negative"))?,
                start: start.transpose()?,
                deadline: row.deadline,
                known: numeric::to_units("deposit", &row.known)?,
            })
        })
        .collect()
}

/// Native amounts known to have arrived at addresses on `network`, in blocks up to `height` if one
/// is given; addresses without any are left out.
pub async fn known_native(
    connection: &mut PgConnection,
    network: &str,
    ids: &[Uuid],
    height: Option<u64>,
) -> Result<HashMap<Uuid, BaseUnits>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select address_id, sum(amount) as "known!"
        from deposit
        where address_id = any ($2) and network = $1 and contract is null
          and state in ('seen', 'final', 'settled', 'reversed') and height is not null and amount is not null
          and ($3::bigint is null or height <= $3)
        group by address_id
        "#,
        network,
        ids,
        height.map(to_column).transpose()?
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| Ok((row.address_id, numeric::to_units("deposit", &row.known)?)))
        .collect()
}

/// Records the starting balances of addresses. The first record stays.
pub async fn set_starting_balances(
    connection: &mut PgConnection,
    ids: &[Uuid],
    balances: &[BaseUnits],
) -> Result<(), StorageError> {
    let balances: Vec<_> = balances.iter().copied().map(numeric::from_units).collect();
    sqlx::query!(
        r#"
        update deposit_address
        set starting_balance = t.balance
        from unnest($1::uuid[], $2::numeric[]) as t (id, balance)
        where deposit_address.id = t.id and starting_balance is null
        "#,
        ids,
        &balances
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Records an operator's statement of an address's starting balance, and has the address compared
/// for one more day. `false` if a lower balance is recorded already: deposits credited because of
/// it stay.
pub async fn lower_starting_balance(
    connection: &mut PgConnection,
    id: Uuid,
    units: BaseUnits,
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        r#"
        update deposit_address
        set starting_balance = $2, compared_until = now() + interval '1 day'
        where id = $1 and (starting_balance is null or starting_balance >= $2)
        "#,
        id,
        numeric::from_units(units)
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// The merchant who, or whose invoice or payout order, has an address: `keys[n]` is its spelling in
/// `families[n]`. Index: `deposit_address_unique`.
pub async fn merchant_of(
    connection: &mut PgConnection,
    families: &[String],
    keys: &[String],
) -> Result<Option<Uuid>, StorageError> {
    let merchant = sqlx::query_scalar!(
        r#"
        select coalesce(i.merchant_id, o.merchant_id, l.merchant_id) as "merchant_id!"
        from unnest($1::text[], $2::text[]) as wanted (family, match_key)
        join deposit_address a on a.family = wanted.family and a.match_key = wanted.match_key
        left join invoice i on i.id = a.invoice_id
        left join payout_order o on o.id = a.payout_order_id
        left join legacy_address l on l.address_id = a.id
        where num_nonnulls(a.invoice_id, a.payout_order_id, l.address_id) > 0
        limit 1
        "#,
        families,
        keys
    )
    .fetch_optional(connection)
    .await?;
    Ok(merchant)
}

/// Number of addresses that an invoice was given. Index: `deposit_address_by_invoice`.
pub async fn count_of_invoice(
    connection: &mut PgConnection,
    invoice_id: Uuid,
) -> Result<i64, StorageError> {
    let count = sqlx::query_scalar!(
        r#"select count(*) as "count!" from deposit_address where invoice_id = $1"#,
        invoice_id
    )
    .fetch_one(connection)
    .await?;
    Ok(count)
}
