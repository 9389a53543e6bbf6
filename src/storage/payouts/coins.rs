//! The outputs that orders hold on bitcoin-like networks, one by one, and the blocks in which their
//! payments were looked for.
//!
//! Deposits are named by their keys (`txid:n`), change by the version that made it.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use crate::{
    asset::Network,
    money::BaseUnits,
    payout::coins::{HeldCoin, Place},
    storage::{PgConnection, StorageError, cursors, numeric},
};

const TABLE: &str = "payout_input";

/// The outputs that an order can spend: booked deposits that stand in the chain, and the change of
/// payments that are final. An output returned by a payment whose place was taken is change too;
/// without such a version a payment that failed returned nothing.
pub async fn spendable(
    connection: &mut PgConnection,
    order_id: Uuid,
) -> Result<Vec<HeldCoin>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select c.outpoint as "outpoint!", c.amount as "amount!"
        from (
            select d.network, d.deposit_key as outpoint, d.amount
            from deposit d
            join payout_order o on o.id = d.payout_order_id and o.network = d.network
            where d.payout_order_id = $1 and d.state = 'settled' and d.booked_as in ('credit', 'late')
              and d.height is not null
            union all
            select p.network, p.tx_hash || ':' || v.change_n, v.change_amount
            from payout_payment p
            join payout_version v on v.payment_id = p.id and v.tx_hash = p.tx_hash
            where p.order_id = $1 and p.state in ('confirmed', 'failed') and v.change_amount is not null
        ) c
        where not exists (select from payout_input i where i.network = c.network and i.outpoint = c.outpoint)
        order by c.amount desc, c.outpoint
        limit 5000
        "#,
        order_id
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(|row| coin(row.outpoint, &row.amount)).collect()
}

/// The outputs that a payment spends, in all its versions.
pub async fn inputs_of(
    connection: &mut PgConnection,
    payment_id: Uuid,
) -> Result<Vec<HeldCoin>, StorageError> {
    let rows = sqlx::query!(
        "select outpoint, amount from payout_input where payment_id = $1 order by outpoint",
        payment_id
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(|row| coin(row.outpoint, &row.amount)).collect()
}

/// Notes the other outputs spent by the transaction that took a payment's place.
pub async fn add_inputs(
    connection: &mut PgConnection,
    payment_id: Uuid,
    network: Network,
    coins: &[HeldCoin],
) -> Result<(), StorageError> {
    let outpoints: Vec<_> = coins.iter().map(|coin| coin.outpoint.clone()).collect();
    let amounts: Vec<_> = coins.iter().map(|coin| numeric::from_units(coin.amount)).collect();
    sqlx::query!(
        r#"
        insert into payout_input (network, outpoint, payment_id, amount)
        select $2, t.outpoint, $1, t.amount
        from unnest($3::text[], $4::numeric[]) as t (outpoint, amount)
        "#,
        payment_id,
        network.name(),
        &outpoints,
        &amounts
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The change of payments of an order that wait for a block, as far as nothing spends it.
pub async fn waiting_change(
    connection: &mut PgConnection,
    order_id: Uuid,
) -> Result<HashMap<Uuid, HeldCoin>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select p.id, p.tx_hash || ':' || v.change_n as "outpoint!", v.change_amount as "amount!"
        from payout_payment p
        join payout_version v on v.payment_id = p.id and v.tx_hash = p.tx_hash
        where p.order_id = $1 and p.state = 'sent' and p.height is null and v.change_amount is not null
          and not exists (select from payout_input i
                          where i.network = p.network and i.outpoint = p.tx_hash || ':' || v.change_n)
        "#,
        order_id
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter().map(|row| Ok((row.id, coin(row.outpoint, &row.amount)?))).collect()
}

/// The sum of the fees that the payments of an order take for the network, but for one of them.
pub async fn fees_signed(
    connection: &mut PgConnection,
    order_id: Uuid,
    but: Option<Uuid>,
) -> Result<BaseUnits, StorageError> {
    let row = sqlx::query!(
        r#"
        select coalesce(sum(v.fee), 0) as "fees!"
        from payout_payment p
        join payout_version v on v.payment_id = p.id and v.tx_hash = p.tx_hash
        where p.order_id = $1 and p.id is distinct from $2
        "#,
        order_id,
        but
    )
    .fetch_one(connection)
    .await?;
    numeric::to_units("payout_version", &row.fees)
}

/// Those of `tx_hashes` that we signed for one of these orders, each with the order: the value that
/// such a transaction brings to the order's address returns, and is no deposit.
pub async fn own_among(
    connection: &mut PgConnection,
    order_ids: &[Uuid],
    tx_hashes: &[String],
) -> Result<HashSet<(Uuid, String)>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select p.order_id, v.tx_hash
        from payout_version v
        join payout_payment p on p.id = v.payment_id
        where v.tx_hash = any ($2) and p.order_id = any ($1)
        "#,
        order_ids,
        tx_hashes
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| (row.order_id, row.tx_hash)).collect())
}

/// The blocks in which a payment was looked for, and the data needed to look on.
#[derive(Debug, Clone)]
pub struct Search {
    /// Of the payment, or of the payout whose merchant signed it.
    pub id: Uuid,
    pub place: Place,
    /// The outputs it spends, as far as they stand in the chain for good.
    pub inputs: Vec<String>,
    /// The fee of each version, by its hash, as far as it is kept here.
    pub fees: HashMap<String, BaseUnits>,
}

/// The search for the payment with this nonce.
pub async fn search(
    connection: &mut PgConnection,
    network: Network,
    sender: &str,
    nonce: u64,
) -> Result<Option<Search>, StorageError> {
    let row = sqlx::query!(
        r#"
        select p.id, s.height, s.hash, s.found, s.missing_since,
               array(select i.outpoint
                     from payout_input i
                     where i.payment_id = p.id
                       and not exists (select from payout_payment o
                                       where o.order_id = p.order_id and o.state in ('signed', 'sent')
                                         and o.tx_hash = split_part(i.outpoint, ':', 1))
                     order by i.outpoint) as "inputs!",
               array(select v.tx_hash from payout_version v where v.payment_id = p.id order by v.version) as "hashes!",
               array(select coalesce(v.fee, 0) from payout_version v where v.payment_id = p.id order by v.version) as "fees!"
        from payout_payment p
        join payout_search s on s.payment_id = p.id
        where p.network = $1 and p.sender = $2 and p.nonce = $3
        "#,
        network.name(),
        sender,
        cursors::to_column(nonce)?
    )
    .fetch_optional(connection)
    .await?;
    row.map(|row| {
        let fees = row.fees.iter().map(|fee| numeric::to_units("payout_version", fee));
        let fees: Vec<_> = fees.collect::<Result<_, _>>()?;
        Ok(Search {
            id: row.id,
            place: Place {
                height: cursors::from_column(row.height)?,
                hash: row.hash,
                found: row.found,
                missing_since: row.missing_since.map(cursors::from_column).transpose()?,
            },
            inputs: row.inputs,
            fees: row.hashes.into_iter().zip(fees).collect(),
        })
    })
    .transpose()
}

/// Notes how far the blocks were read.
pub async fn save_place(
    connection: &mut PgConnection,
    payment_id: Uuid,
    place: &Place,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        update payout_search
        set height = $2, hash = $3, found = $4, missing_since = $5
        where payment_id = $1
        "#,
        payment_id,
        cursors::to_column(place.height)?,
        place.hash,
        place.found,
        place.missing_since.map(cursors::to_column).transpose()?
    )
    .execute(connection)
    .await?;
    Ok(())
}

fn coin(outpoint: String, amount: &bigdecimal::BigDecimal) -> Result<HeldCoin, StorageError> {
    Ok(HeldCoin { outpoint, amount: numeric::to_units(TABLE, amount)? })
}
