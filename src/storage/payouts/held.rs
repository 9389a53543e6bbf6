//! Balances that payout addresses should have according to the rows: orders' own, and the gas
//! wallet of each network.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use crate::{
    asset::Network,
    money::BaseUnits,
    storage::{PgConnection, StorageError, cursors, numeric},
};

const TABLE: &str = "payout_payment";

/// Amounts of one token that payments moved at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moved {
    /// Gas received from the gas wallet.
    pub came: BaseUnits,
    /// Amounts paid from there, and their network fees.
    pub went: BaseUnits,
}

/// Amounts that final payments up to `height` moved at the addresses of orders, by address and
/// token. Deposits are not included. Index: `payout_payment_by_order`.
pub async fn moved(
    connection: &mut PgConnection,
    network: Network,
    native_token_id: &str,
    address_ids: &[Uuid],
    height: u64,
) -> Result<HashMap<(Uuid, String), Moved>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select a.id, t.token_id as "token_id!", sum(t.came) as "came!", sum(t.went) as "went!"
        from deposit_address a
        join payout_order o on o.id = a.payout_order_id
        join payout_payment p on p.order_id = o.id
        cross join lateral (
            select case when p.state = 'confirmed' then p.amount else 0 end as amount, coalesce(p.fee, 0) as fee
        ) final
        cross join lateral (
            values ($3::text,
                    case when p.purpose = 'gas' then final.amount else 0 end,
                    case p.purpose when 'gas' then 0 when 'gas_return' then final.fee + final.amount else final.fee end),
                   (o.token_id, 0, case when p.purpose in ('pay', 'refund') then final.amount else 0 end)
        ) as t (token_id, came, went)
        where a.id = any ($1) and p.network = $2 and p.height <= $4
        group by a.id, t.token_id
        "#,
        address_ids,
        network.name(),
        native_token_id,
        cursors::to_column(height)?
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| {
            let (came, went) = (&row.came, &row.went);
            let (came, went) = (numeric::to_units(TABLE, came)?, numeric::to_units(TABLE, went)?);
            Ok(((row.id, row.token_id), Moved { came, went }))
        })
        .collect()
}

/// The addresses among `address_ids` whose orders have payments that are not final: their cost is
/// not known yet.
pub async fn moving(
    connection: &mut PgConnection,
    address_ids: &[Uuid],
) -> Result<HashSet<Uuid>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select distinct a.id
        from deposit_address a
        join payout_payment p on p.order_id = a.payout_order_id
        where a.id = any ($1) and p.state in ('signed', 'sent')
        "#,
        address_ids
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| row.id).collect())
}

/// Amounts that final payments up to `height` took out of the gas wallet and returned to it; `None`
/// while one of them is not final. Indices: `payout_payment_open`, `payout_payment_nonce_once`,
/// `payout_payment_gas_return`.
pub async fn of_gas_wallet(
    connection: &mut PgConnection,
    network: Network,
    sender: &str,
    height: u64,
) -> Result<Option<Moved>, StorageError> {
    let row = sqlx::query!(
        r#"
        select exists (select from payout_payment
                       where state in ('signed', 'sent') and network = $1 and purpose in ('gas', 'gas_return')) as "open!",
               (select coalesce(sum(coalesce(fee, 0) + case when state = 'confirmed' then amount else 0 end), 0)
                from payout_payment where network = $1 and sender = $2 and height <= $3) as "went!",
               (select coalesce(sum(p.amount), 0)
                from payout_payment p
                where p.network = $1 and p.purpose = 'gas_return' and p.state = 'confirmed' and p.height <= $3
                  and p.returned_to = $2) as "came!"
        "#,
        network.name(),
        sender,
        cursors::to_column(height)?
    )
    .fetch_one(connection)
    .await?;
    if row.open {
        return Ok(None);
    }
    let (came, went) = (&row.came, &row.went);
    let (came, went) = (numeric::to_units(TABLE, came)?, numeric::to_units(TABLE, went)?);
    Ok(Some(Moved { came, went }))
}

/// Stores the operators' total deposits into a gas wallet, derived from its balance at `height`.
/// Returns the previously stored total if it was higher: then coins have left by no payment of
/// ours. The stored value is the wallet's new baseline.
pub async fn note_paid_in(
    connection: &mut PgConnection,
    network: Network,
    address: &str,
    paid_in: BaseUnits,
    height: u64,
) -> Result<Option<BaseUnits>, StorageError> {
    let row = sqlx::query!(
        r#"
        with before as (select paid_in from gas_wallet where network = $1 and address = $2)
        insert into gas_wallet as w (network, address, paid_in, height)
        values ($1, $2, $3, $4)
        on conflict (network, address) do update
        set paid_in = excluded.paid_in, height = excluded.height, seen_at = now()
        where excluded.height > w.height
        returning (select paid_in from before where paid_in > $3) as lost
        "#,
        network.name(),
        address,
        numeric::from_units(paid_in),
        cursors::to_column(height)?
    )
    .fetch_optional(connection)
    .await?;
    let before = row.and_then(|row| row.lost);
    before.map(|before| numeric::to_units("gas_wallet", &before)).transpose()
}
