//! Deposits that no block shows, found by an address's balance. Their column `found_by_balance`
//! says so.

use std::collections::HashMap;

use uuid::Uuid;

use crate::{
    asset::Network,
    money::BaseUnits,
    storage::{
        PgConnection, StorageError,
        cursors::{from_column, to_column},
    },
};

/// A deposit found by balance that lost its block.
#[derive(Debug, Clone)]
pub struct Gone {
    pub deposit_key: String,
    pub tx_hash: String,
    pub amount: BaseUnits,
}

/// Deposits found by balance that lost their block, at each of `address_ids`, oldest first.
/// Withdrawn and replaced ones stay as they ended. Indices: `deposit_found_by_balance_gone`,
/// `deposit_replaced_once`.
pub async fn gone(
    connection: &mut PgConnection,
    network: Network,
    address_ids: &[Uuid],
) -> Result<HashMap<Uuid, Vec<Gone>>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select d.address_id, d.deposit_key, d.tx_hash, d.amount as "amount!: BaseUnits"
        from deposit d
        where d.network = $1 and d.height is null and d.found_by_balance and d.address_id = any ($2)
          and d.state in ('seen', 'settled', 'reversed') and d.amount is not null
          and not exists (select from deposit next where next.replaces = d.id)
        order by d.first_seen_at, d.id
        "#,
        network.name(),
        address_ids
    )
    .fetch_all(connection)
    .await?;
    let mut gone: HashMap<Uuid, Vec<Gone>> = HashMap::new();
    for row in rows {
        let (deposit_key, tx_hash) = (row.deposit_key, row.tx_hash);
        let one = Gone { deposit_key, tx_hash, amount: row.amount };
        gone.entry(row.address_id).or_default().push(one);
    }
    Ok(gone)
}

/// A deposit found by balance that was reversed in the books and found again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Returned {
    pub address_id: Uuid,
    pub match_key: String,
    pub tx_hash: String,
    pub amount: BaseUnits,
    /// Height at which it was found.
    pub height: u64,
    /// Starting balance of its address; `None` until it was read.
    pub start: Option<BaseUnits>,
}

/// The returned deposit under a key, if there is one. Index: `deposit_unique`.
pub async fn returned(
    connection: &mut PgConnection,
    network: Network,
    deposit_key: &str,
) -> Result<Option<Returned>, StorageError> {
    let row = sqlx::query!(
        r#"
        select d.address_id, a.match_key, d.tx_hash, d.amount as "amount!: BaseUnits", d.height as "height!",
               a.starting_balance as "start: BaseUnits"
        from deposit d
        join deposit_address a on a.id = d.address_id
        where d.network = $1 and d.deposit_key = $2 and d.state = 'reversed' and d.height is not null
          and d.found_by_balance and d.amount is not null
        "#,
        network.name(),
        deposit_key
    )
    .fetch_optional(connection)
    .await?;
    row.map(|row| {
        Ok(Returned {
            address_id: row.address_id,
            match_key: row.match_key,
            tx_hash: row.tx_hash,
            amount: row.amount,
            height: from_column(row.height)?,
            start: row.start,
        })
    })
    .transpose()
}

/// True if the key belongs to any deposit other than an uncounted one (seen or withdrawn) without a
/// block. Index: `deposit_unique`.
pub async fn is_taken(
    connection: &mut PgConnection,
    network: Network,
    deposit_key: &str,
) -> Result<bool, StorageError> {
    let row = sqlx::query!(
        r#"
        select exists (
            select from deposit
            where network = $1 and deposit_key = $2 and not (state in ('seen', 'withdrawn') and height is null)
        ) as "taken!"
        "#,
        network.name(),
        deposit_key
    )
    .fetch_one(connection)
    .await?;
    Ok(row.taken)
}

/// True if a booked deposit found by balance was lost with a branch no higher than `head`. Index:
/// `deposit_orphaned`.
pub async fn any_lost(
    connection: &mut PgConnection,
    network: Network,
    head: u64,
) -> Result<bool, StorageError> {
    let row = sqlx::query!(
        r#"
        select exists (
            select from deposit
            where network = $1 and orphaned_height <= $2 and state = 'settled' and found_by_balance
        ) as "any!"
        "#,
        network.name(),
        to_column(head)?
    )
    .fetch_one(connection)
    .await?;
    Ok(row.any)
}

/// True if the deposit under this key was found by balance. Index: `deposit_unique`.
pub async fn is_by_balance(
    connection: &mut PgConnection,
    network: Network,
    deposit_key: &str,
) -> Result<bool, StorageError> {
    let found = sqlx::query_scalar!(
        "select found_by_balance from deposit where network = $1 and deposit_key = $2",
        network.name(),
        deposit_key
    )
    .fetch_optional(connection)
    .await?;
    Ok(found.unwrap_or(false))
}
