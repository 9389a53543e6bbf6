//! Inputs of payouts on bitcoin-like networks, and the position of the search for their
//! transactions.

use std::collections::HashMap;

use uuid::Uuid;

use crate::{
    asset::Network,
    payout::coins::{HeldCoin, Place},
    storage::{PgConnection, StorageError, cursors, numeric, payouts::coins::Search},
};

/// Stores the inputs of a payout, and the block from which the search for its transaction starts.
pub async fn insert(
    connection: &mut PgConnection,
    payout_id: Uuid,
    network: Network,
    coins: &[HeldCoin],
    begin: &Place,
) -> Result<(), StorageError> {
    let outpoints: Vec<_> = coins.iter().map(|coin| coin.outpoint.clone()).collect();
    let amounts: Vec<_> = coins.iter().map(|coin| numeric::from_units(coin.amount)).collect();
    sqlx::query!(
        r#"
        with search as (
            insert into nc_payout_search (payout_id, height, hash) values ($1, $2, $3)
        )
        insert into nc_payout_input (payout_id, network, outpoint, amount)
        select $1, $4, outpoint, amount
        from unnest($5::text[], $6::numeric[]) as given (outpoint, amount)
        "#,
        payout_id,
        cursors::to_column(begin.height)?,
        begin.hash,
        network.name(),
        &outpoints,
        &amounts
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Outpoints of a payout's inputs.
pub async fn of_payout(
    connection: &mut PgConnection,
    payout_id: Uuid,
) -> Result<Vec<String>, StorageError> {
    let rows = sqlx::query!(
        "select outpoint from nc_payout_input where payout_id = $1 order by outpoint",
        payout_id
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().map(|row| row.outpoint).collect())
}

/// Reserves a payout's inputs when its signed bytes are stored. Fails on `nc_payout_input_once` if
/// another payout has one of them: then the transaction must be rolled back.
pub async fn take(connection: &mut PgConnection, payout_id: Uuid) -> Result<(), StorageError> {
    set_taken(connection, payout_id, true).await
}

/// Releases the inputs of a payout that can never be paid: one of them was double-spent, for good.
pub async fn give_back(connection: &mut PgConnection, payout_id: Uuid) -> Result<(), StorageError> {
    set_taken(connection, payout_id, false).await
}

async fn set_taken(
    connection: &mut PgConnection,
    payout_id: Uuid,
    taken: bool,
) -> Result<(), StorageError> {
    sqlx::query!("update nc_payout_input set taken = $2 where payout_id = $1", payout_id, taken)
        .execute(connection)
        .await?;
    Ok(())
}

/// The search for the transaction with this hash. Index: `nc_payout_nonce_once`.
pub async fn search(
    connection: &mut PgConnection,
    network: Network,
    sender: &str,
    hash: &str,
) -> Result<Option<Search>, StorageError> {
    let row = sqlx::query!(
        r#"
        select s.payout_id, s.height, s.hash, s.found, s.missing_since,
               array(select i.outpoint from nc_payout_input i where i.payout_id = s.payout_id order by i.outpoint) as "inputs!"
        from nc_payout_transaction t
        join nc_payout_search s on s.payout_id = t.payout_id
        where t.network = $1 and t.sender = $2 and t.tx_hash = $3 and t.raw is not null
        "#,
        network.name(),
        sender,
        hash
    )
    .fetch_optional(connection)
    .await?;
    row.map(|row| {
        Ok(Search {
            id: row.payout_id,
            place: Place {
                height: cursors::from_column(row.height)?,
                hash: row.hash,
                found: row.found,
                missing_since: row.missing_since.map(cursors::from_column).transpose()?,
            },
            inputs: row.inputs,
            fees: HashMap::new(),
        })
    })
    .transpose()
}

/// Stores the position up to which the blocks were read.
pub async fn save_place(
    connection: &mut PgConnection,
    payout_id: Uuid,
    place: &Place,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        update nc_payout_search
        set height = $2, hash = $3, found = $4, missing_since = $5
        where payout_id = $1
        "#,
        payout_id,
        cursors::to_column(place.height)?,
        place.hash,
        place.found,
        place.missing_since.map(cursors::to_column).transpose()?
    )
    .execute(connection)
    .await?;
    Ok(())
}
