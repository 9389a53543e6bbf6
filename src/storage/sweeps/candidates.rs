//! Coins at deposit addresses that may be collected.
//!
//! Only booked deposits count, at addresses whose invoice has ended and to which nothing is on its
//! way: the watcher counts on it that nothing leaves an address before. Addresses of payout orders
//! have another owner.

use std::collections::HashMap;

use uuid::Uuid;

use crate::{
    asset::Network,
    money::BaseUnits,
    storage::{PgConnection, StorageError, cursors, numeric},
};

const TABLE: &str = "deposit";

/// A deposit address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub address_id: Uuid,
    pub address: String,
    pub index: i64,
}

/// An output that no sweep has.
#[derive(Debug, Clone)]
pub struct Output {
    pub place: Place,
    /// `txid:n`
    pub outpoint: String,
    pub amount: BaseUnits,
    /// The block that made it.
    pub height: u64,
}

/// The largest outputs, up to `limit`. Indices: `deposit_by_address`, `sweep_coin_once`.
pub async fn outputs(
    connection: &mut PgConnection,
    network: Network,
    limit: i64,
) -> Result<Vec<Output>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select a.id, a.address, a.derivation_index, d.deposit_key, d.amount as "amount!: BaseUnits", d.height as "height!"
        from deposit d
        join deposit_address a on a.id = d.address_id
        left join invoice i on i.id = a.invoice_id
        where d.network = $1 and d.state = 'settled' and d.booked_as in ('credit', 'late', 'foreign')
          and d.height is not null and d.amount is not null and d.contract is null and a.payout_order_id is null
          and (i.id is null or i.status in ('paid', 'overpaid', 'expired', 'cancelled'))
          and (a.compared_until is null or a.compared_until <= now())
          and not exists (select from deposit o
                          where o.address_id = a.id and o.network = $1 and o.state in ('seen', 'final'))
          and not exists (select from sweep_coin c
                          where c.network = $1 and c.coin = d.deposit_key and not c.released)
        order by d.amount desc, d.deposit_key
        limit $2
        "#,
        network.name(),
        limit
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| {
            let (address_id, address, index) = (row.id, row.address, row.derivation_index);
            Ok(Output {
                place: Place { address_id, address, index },
                outpoint: row.deposit_key,
                amount: row.amount,
                height: cursors::from_column(row.height)?,
            })
        })
        .collect()
}

/// Balance of an account by the rows: booked, and not taken by a sweep.
#[derive(Debug, Clone)]
pub struct Holding {
    pub place: Place,
    pub token_id: String,
    pub amount: BaseUnits,
}

/// The accounts with the largest amounts of any token, up to `limit` for each, with all that they
/// hold. Those that a plan has already are left out. Indices: `deposit_by_address`,
/// `sweep_coin_by_address`.
pub async fn holdings(
    connection: &mut PgConnection,
    network: Network,
    native_token_id: &str,
    limit: i64,
) -> Result<Vec<Holding>, StorageError> {
    let rows = sqlx::query!(
        r#"
        with moved as (
            select d.address_id, d.token_id, d.amount
            from deposit d
            where d.network = $1 and d.state = 'settled' and d.booked_as in ('credit', 'late', 'foreign')
              and d.height is not null and d.amount is not null and d.token_id is not null
            union all
            select c.address_id, t.token_id, -t.amount
            from sweep_coin c
            join sweep_transaction s on s.id = c.transaction_id
            cross join lateral (
                values (c.token_id, case when s.state = 'confirmed' then c.amount else 0 end),
                       ($2::text, case when s.relayed then 0 else coalesce(s.fee, 0) end)
            ) as t (token_id, amount)
            where c.network = $1 and s.state in ('confirmed', 'failed') and s.sender is not null
        ), held as (
            select m.address_id, m.token_id, sum(m.amount) as amount,
                   row_number() over (partition by m.token_id order by sum(m.amount) desc, m.address_id) as place
            from moved m
            join deposit_address a on a.id = m.address_id
            left join invoice i on i.id = a.invoice_id
            where a.payout_order_id is null
              and (i.id is null or i.status in ('paid', 'overpaid', 'expired', 'cancelled'))
              and (a.compared_until is null or a.compared_until <= now())
              and not exists (select from deposit o
                              where o.address_id = a.id and o.network = $1 and o.state in ('seen', 'final'))
              and not exists (select from sweep_coin c
                              join sweep_transaction s on s.id = c.transaction_id
                              where c.address_id = a.id and c.network = $1 and s.state in ('planned', 'signed', 'sent'))
            group by m.address_id, m.token_id
            having sum(m.amount) > 0
        )
        select h.address_id as "address_id!", a.address, a.derivation_index, h.token_id as "token_id!", h.amount as "amount!"
        from held h
        join deposit_address a on a.id = h.address_id
        where h.address_id in (select address_id from held where place <= $3)
        order by a.derivation_index, h.token_id
        "#,
        network.name(),
        native_token_id,
        limit
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| {
            let place = Place {
                address_id: row.address_id,
                address: row.address,
                index: row.derivation_index,
            };
            let amount = numeric::to_units(TABLE, &row.amount)?;
            Ok(Holding { place, token_id: row.token_id, amount })
        })
        .collect()
}

/// True if an address is one of our own deposit addresses.
pub async fn is_deposit_address(
    connection: &mut PgConnection,
    network: Network,
    match_key: &str,
) -> Result<bool, StorageError> {
    let found = sqlx::query_scalar!(
        r#"select exists (select from deposit_address where family = $1 and match_key = $2) as "found!""#,
        network.family().name(),
        match_key
    )
    .fetch_one(connection)
    .await?;
    Ok(found)
}

/// The highest index of a family's addresses that was given out. Index:
/// `deposit_address_index_unique`.
pub async fn highest_index(
    connection: &mut PgConnection,
    network: Network,
) -> Result<u32, StorageError> {
    let highest = sqlx::query_scalar!(
        "select max(derivation_index) from deposit_address where family = $1",
        network.family().name()
    )
    .fetch_one(connection)
    .await?;
    Ok(u32::try_from(highest.unwrap_or(0)).unwrap_or(u32::MAX))
}

/// True if transactions of an account wait for their end.
pub async fn is_under_way(
    connection: &mut PgConnection,
    network: Network,
    sender: &str,
) -> Result<bool, StorageError> {
    let found = sqlx::query_scalar!(
        r#"
        select exists (select from sweep_transaction
                       where network = $1 and sender = $2 and state in ('planned', 'signed', 'sent')) as "found!"
        "#,
        network.name(),
        sender
    )
    .fetch_one(connection)
    .await?;
    Ok(found)
}

/// Amounts by token that open invoices keep where they are, for people.
pub async fn kept_back(
    connection: &mut PgConnection,
    network: Network,
) -> Result<HashMap<String, BaseUnits>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select d.token_id as "token_id!", sum(d.amount) as "sum!"
        from deposit d
        join deposit_address a on a.id = d.address_id
        left join invoice i on i.id = a.invoice_id
        where d.network = $1 and d.state = 'settled' and d.booked_as in ('credit', 'late', 'foreign')
          and d.height is not null and d.amount is not null and d.token_id is not null and a.payout_order_id is null
          and (i.status in ('draft', 'pending', 'partial') or a.compared_until > now()
               or exists (select from deposit o
                          where o.address_id = a.id and o.network = $1 and o.state in ('seen', 'final')))
        group by d.token_id
        "#,
        network.name()
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(|row| Ok((row.token_id, numeric::to_units(TABLE, &row.sum)?))).collect()
}
