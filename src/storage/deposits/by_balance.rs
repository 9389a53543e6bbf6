//! Deposits that no block shows, found by what an address holds. Their keys are `address@height`.

use std::collections::HashMap;

use uuid::Uuid;

use crate::{
    asset::Network,
    money::BaseUnits,
    storage::{PgConnection, StorageError, cursors::to_column, numeric},
};

/// One that lost its block.
#[derive(Debug, Clone)]
pub struct Gone {
    pub deposit_key: String,
    pub tx_hash: String,
    pub amount: BaseUnits,
}

/// Those at each of `address_ids`, the oldest first. A withdrawn one stays as it ended. Index: `deposit_gone_by_balance`.
pub async fn gone(
    connection: &mut PgConnection,
    network: Network,
    address_ids: &[Uuid],
) -> Result<HashMap<Uuid, Vec<Gone>>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select address_id, deposit_key, tx_hash, amount as "amount!"
        from deposit
        where network = $1 and height is null and deposit_key like '%@%' and deposit_key not like '%~%'
          and state in ('seen', 'settled', 'reversed') and address_id = any ($2) and amount is not null
        order by first_seen_at, id
        "#,
        network.name(),
        address_ids
    )
    .fetch_all(connection)
    .await?;
    let mut gone: HashMap<Uuid, Vec<Gone>> = HashMap::new();
    for row in rows {
        let amount = numeric::to_units("deposit", &row.amount)?;
        let (deposit_key, tx_hash) = (row.deposit_key, row.tx_hash);
        gone.entry(row.address_id).or_default().push(Gone { deposit_key, tx_hash, amount });
    }
    Ok(gone)
}

/// Whether a key names something else than a deposit that is not counted and stands in no block. Index: `deposit_unique`.
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

/// Whether a booked one was lost with a branch that was not higher than `head`. Index: `deposit_orphaned`.
pub async fn any_lost(
    connection: &mut PgConnection,
    network: Network,
    head: u64,
) -> Result<bool, StorageError> {
    let row = sqlx::query!(
        r#"
        select exists (
            select from deposit
            where network = $1 and orphaned_height <= $2 and state = 'settled' and deposit_key like '%@%'
        ) as "any!"
        "#,
        network.name(),
        to_column(head)?
    )
    .fetch_one(connection)
    .await?;
    Ok(row.any)
}
