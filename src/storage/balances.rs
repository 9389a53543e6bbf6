//! Reconciliation of balances on chain with the rows: the addresses that are due, and the
//! differences.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{PgConnection, StorageError, cursors, numeric};
use crate::{
    asset::{Family, Network},
    money::BaseUnits,
};

/// An address whose balance is to be compared.
#[derive(Debug, Clone)]
pub struct DueAddress {
    pub id: Uuid,
    pub match_key: String,
    pub created_at: DateTime<Utc>,
    /// The network it was given out for.
    pub network: String,
    /// Starting balance in that network's coin, if it was read.
    pub start: Option<BaseUnits>,
    /// True for a payout order's address, whose deposits are paid out again.
    pub of_order: bool,
}

struct RawDue {
    id: Uuid,
    match_key: String,
    created_at: DateTime<Utc>,
    network: String,
    starting_balance: Option<bigdecimal::BigDecimal>,
    of_order: bool,
}

impl TryFrom<RawDue> for DueAddress {
    type Error = StorageError;

    fn try_from(raw: RawDue) -> Result<Self, StorageError> {
        let start = raw.starting_balance.as_ref();
        let start = start.map(|start| numeric::to_units("deposit_address", start)).transpose()?;
        let (id, match_key, created_at) = (raw.id, raw.match_key, raw.created_at);
        let of_order = raw.of_order;
        Ok(Self { id, match_key, created_at, network: raw.network, start, of_order })
    }
}

/// Scope of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Addresses of open invoices.
    Open,
    All,
}

impl Part {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::All => "all",
        }
    }
}

/// Reads addresses: `a` is the address, which further tables and conditions follow.
macro_rules! due_addresses {
    ($rest:literal; $($argument:expr),+) => {
        sqlx::query_as!(
            RawDue,
            r#"
            select a.id, a.match_key, a.created_at, a.network, a.starting_balance,
                   a.payout_order_id is not null as "of_order!"
            from deposit_address a
            "# + $rest,
            $($argument),+
        )
    };
}

/// Addresses whose balance differed when it was last compared, least recently compared first.
pub async fn doubtful(
    connection: &mut PgConnection,
    network: Network,
    limit: i64,
) -> Result<Vec<DueAddress>, StorageError> {
    let rows = due_addresses!(
        r#"
        join (
            select address_id, min(seen_at) as seen_at
            from balance_difference
            where network = $1 and found - expected <> explained
            group by address_id
        ) d on d.address_id = a.id
        order by d.seen_at, a.id
        limit $2
        "#;
        network.name(),
        limit
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(TryInto::try_into).collect()
}

/// The next addresses of a walk, in the order in which they were given out. With [`Part::All`],
/// those of payout orders are included on request.
pub async fn next(
    connection: &mut PgConnection,
    network: Network,
    part: Part,
    with_orders: bool,
    limit: i64,
) -> Result<Vec<DueAddress>, StorageError> {
    let walk = sqlx::query!(
        "select after_at, after_id from balance_walk where network = $1 and part = $2",
        network.name(),
        part.as_str()
    )
    .fetch_optional(&mut *connection)
    .await?;
    let (at, id) =
        walk.map_or((DateTime::UNIX_EPOCH, Uuid::nil()), |walk| (walk.after_at, walk.after_id));
    let rows = match part {
        Part::Open => {
            due_addresses!(
                r#"
                join invoice i on i.id = a.invoice_id
                where i.network = $1 and i.status in ('pending', 'partial') and (a.created_at, a.id) > ($2, $3)
                order by a.created_at, a.id
                limit $4
                "#;
                network.name(),
                at,
                id,
                limit
            )
            .fetch_all(connection)
            .await?
        }
        Part::All => {
            due_addresses!(
                r#"
                where a.family = $1 and (a.created_at, a.id) > ($2, $3)
                  and (a.invoice_id is not null or $5 and a.payout_order_id is not null
                       or exists (select from legacy_address l where l.address_id = a.id))
                order by a.created_at, a.id
                limit $4
                "#;
                network.family().name(),
                at,
                id,
                limit,
                with_orders
            )
            .fetch_all(connection)
            .await?
        }
    };
    rows.into_iter().map(TryInto::try_into).collect()
}

/// One address by its spelling.
pub async fn address(
    connection: &mut PgConnection,
    family: Family,
    match_key: &str,
) -> Result<Option<DueAddress>, StorageError> {
    let row = due_addresses!("where a.family = $1 and a.match_key = $2"; family.name(), match_key)
        .fetch_optional(connection)
        .await?;
    row.map(TryInto::try_into).transpose()
}

/// Stores the position of a walk; `None` restarts it.
pub async fn set_walk(
    connection: &mut PgConnection,
    network: Network,
    part: Part,
    after: Option<(DateTime<Utc>, Uuid)>,
) -> Result<(), StorageError> {
    let (at, id) = after.unwrap_or((DateTime::UNIX_EPOCH, Uuid::nil()));
    sqlx::query!(
        r#"
        insert into balance_walk (network, part, after_at, after_id)
        values ($1, $2, $3, $4)
        on conflict (network, part) do update set after_at = excluded.after_at, after_id = excluded.after_id
        "#,
        network.name(),
        part.as_str(),
        at,
        id
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Amounts that addresses received up to `height` according to the rows, by address and token. Our
/// own gas is not included; the payments that brought it are in
/// [`payouts::held`](super::payouts::held). Index: `deposit_by_address`.
pub async fn received(
    connection: &mut PgConnection,
    network: Network,
    address_ids: &[Uuid],
    height: u64,
) -> Result<HashMap<(Uuid, String), BaseUnits>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select address_id, token_id as "token_id!", sum(amount) as "sum!"
        from deposit
        where address_id = any ($1) and network = $2 and height <= $3 and token_id is not null and amount is not null
          and state in ('seen', 'final', 'settled') and booked_as is distinct from 'gas'
        group by address_id, token_id
        "#,
        address_ids,
        network.name(),
        cursors::to_column(height)?
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| {
            let sum = numeric::to_units("deposit", &row.sum)?;
            Ok(((row.address_id, row.token_id), sum))
        })
        .collect()
}

/// Result of one comparison.
#[derive(Debug, Clone)]
pub struct Observed {
    pub address_id: Uuid,
    pub token_id: String,
    pub expected: BaseUnits,
    pub found: BaseUnits,
}

/// Stores differences between chain and rows, and deletes those that are resolved. The rows were
/// read at height `read`; the balances may include blocks up to `up_to`.
///
/// A difference is reported from its second observation on. An observation counts again only if the
/// rows have not changed and were read beyond all blocks that the first one may have included: any
/// deposit in transit at that time would be in the rows by now.
pub async fn observe(
    connection: &mut PgConnection,
    network: Network,
    (read, up_to): (u64, u64),
    observed: &[Observed],
) -> Result<(), StorageError> {
    let ids: Vec<_> = observed.iter().map(|one| one.address_id).collect();
    let tokens: Vec<_> = observed.iter().map(|one| one.token_id.clone()).collect();
    let expected: Vec<_> = observed.iter().map(|o| numeric::from_units(o.expected)).collect();
    let found: Vec<_> = observed.iter().map(|o| numeric::from_units(o.found)).collect();
    sqlx::query!(
        r#"
        insert into balance_difference as b (network, address_id, token_id, expected, found, height)
        select $1, t.address_id, t.token_id, t.expected, t.found, $6
        from unnest($2::uuid[], $3::text[], $4::numeric[], $5::numeric[]) as t (address_id, token_id, expected, found)
        where t.expected <> t.found
           or exists (select from balance_difference o
                      where o.network = $1 and o.address_id = t.address_id and o.token_id = t.token_id)
        on conflict (network, address_id, token_id) do update
        set expected = excluded.expected, found = excluded.found, seen_at = now(),
            times = case when excluded.found - excluded.expected = b.explained then 0
                         when b.times = 0 or excluded.expected <> b.expected and b.times = 1 then 1
                         when $7 > b.height then b.times + 1
                         else b.times end,
            first_seen_at = case when b.times = 0 then now() else b.first_seen_at end,
            -- The first look's bound stays until the rows were read beyond it.
            height = case when b.times = 1 and excluded.expected = b.expected and $7 <= b.height then b.height
                          else excluded.height end
        "#,
        network.name(),
        &ids,
        &tokens,
        &expected,
        &found,
        cursors::to_column(up_to)?,
        cursors::to_column(read)?
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query!(
        r#"
        delete from balance_difference
        where network = $1 and address_id = any ($2) and explained = 0 and found = expected
        "#,
        network.name(),
        &ids
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// A difference that was observed more than once and is unexplained.
#[derive(Debug, Clone)]
pub struct Difference {
    pub network: String,
    pub address: String,
    pub payment_id: Option<String>,
    pub token_id: String,
    pub expected: BaseUnits,
    pub found: BaseUnits,
    /// Unexplained base units: positive where the chain holds more than the rows.
    pub unexplained: String,
    pub height: i64,
    pub first_seen_at: DateTime<Utc>,
}

/// Oldest first.
pub async fn differences(
    connection: &mut PgConnection,
    network: Option<Network>,
    limit: i64,
) -> Result<Vec<Difference>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select b.network, a.address, i.payment_id as "payment_id?", b.token_id, b.expected, b.found,
               (b.found - b.expected - b.explained)::text as "unexplained!", b.height, b.first_seen_at
        from balance_difference b
        join deposit_address a on a.id = b.address_id
        left join invoice i on i.id = a.invoice_id
        where b.times >= 2 and b.found - b.expected <> b.explained and ($1::text is null or b.network = $1)
        order by b.first_seen_at, a.address, b.token_id
        limit $2
        "#,
        network.map(Network::name),
        limit
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(Difference {
                network: row.network,
                address: row.address,
                payment_id: row.payment_id,
                token_id: row.token_id,
                expected: numeric::to_units("balance_difference", &row.expected)?,
                found: numeric::to_units("balance_difference", &row.found)?,
                unexplained: row.unexplained,
                height: row.height,
                first_seen_at: row.first_seen_at,
            })
        })
        .collect()
}

/// Number of unexplained surpluses and deficits per network.
pub async fn counts(
    connection: &mut PgConnection,
) -> Result<HashMap<String, (i64, i64)>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select network,
               count(*) filter (where found - expected > explained) as "surplus!",
               count(*) filter (where found - expected < explained) as "deficit!"
        from balance_difference
        where times >= 2
        group by network
        "#
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.network, (row.surplus, row.deficit))).collect())
}

/// Records an operator's statement that accounts for all differences at an address. Returns the
/// differences in base units, by token.
pub async fn explain(
    connection: &mut PgConnection,
    network: Network,
    address_id: Uuid,
) -> Result<Vec<(String, String)>, StorageError> {
    let rows = sqlx::query!(
        r#"
        update balance_difference
        set explained = found - expected, times = 0
        where network = $1 and address_id = $2 and found - expected <> explained
        returning token_id, (found - expected)::text as "difference!"
        "#,
        network.name(),
        address_id
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.token_id, row.difference)).collect())
}
