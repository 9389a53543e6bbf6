//! Transactions of sweeps from their bytes to their end.

use std::collections::HashMap;

use uuid::Uuid;

use crate::{
    asset::Network,
    money::BaseUnits,
    payout::coins::Place,
    storage::{PgConnection, StorageError, cursors, numeric, payouts::coins::Search},
    sweep::State,
};

/// Stores the bytes of a plan's transactions, in its order.
pub async fn sign(
    connection: &mut PgConnection,
    sweep_id: Uuid,
    signed: &[(Vec<u8>, String)],
) -> Result<(), StorageError> {
    sqlx::query!("update sweep set signed_at = now() where id = $1", sweep_id)
        .execute(&mut *connection)
        .await?;
    for (position, (raw, tx_hash)) in (0_i32..).zip(signed) {
        sqlx::query!(
            r#"
            update sweep_transaction
            set raw = $3, tx_hash = $4, state = 'signed'
            where sweep_id = $1 and position = $2 and state = 'planned'
            "#,
            sweep_id,
            position,
            raw,
            tx_hash
        )
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

/// Notes that a node took the bytes.
pub async fn mark_sent(connection: &mut PgConnection, id: Uuid) -> Result<(), StorageError> {
    sqlx::query!(
        "update sweep_transaction set state = 'sent', sent_at = now() where id = $1 and state in ('signed', 'sent')",
        id
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Notes the block that holds it now, or that none does, and a node's objection.
pub async fn note(
    connection: &mut PgConnection,
    id: Uuid,
    height: Option<u64>,
    error: Option<&str>,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        update sweep_transaction
        set height = $2, error = $3
        where id = $1 and state in ('signed', 'sent') and (height, error) is distinct from ($2, $3)
        "#,
        id,
        height.map(cursors::to_column).transpose()?,
        error
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The end of a transaction.
#[derive(Debug, Clone)]
pub struct End {
    pub state: State,
    pub height: Option<u64>,
    pub fee: BaseUnits,
    pub error: Option<String>,
    /// Another wallet paid for its gas.
    pub relayed: bool,
}

/// Ends a transaction that was sent, unless it has ended. The coins of one that moved nothing are
/// free again, and so are those of an authorization: their name is that of the token at an address,
/// which may get more of it. The caller books it and commits.
pub async fn end(connection: &mut PgConnection, id: Uuid, end: &End) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        r#"
        update sweep_transaction
        set state = $2, height = $3, fee = $4, error = $5, ended_at = now()
        where id = $1 and state in ('signed', 'sent')
        "#,
        id,
        end.state.as_str(),
        end.height.map(cursors::to_column).transpose()?,
        numeric::from_units(end.fee),
        end.error
    )
    .execute(&mut *connection)
    .await?;
    if done.rows_affected() == 0 {
        return Ok(false);
    }
    if end.state != State::Confirmed || end.relayed {
        sqlx::query!("update sweep_coin set released = true where transaction_id = $1", id)
            .execute(connection)
            .await?;
    }
    Ok(true)
}

/// The search for the transaction with this hash, where nodes have no index. Index:
/// `sweep_transaction_hash_once`.
pub async fn search(
    connection: &mut PgConnection,
    network: Network,
    hash: &str,
) -> Result<Option<Search>, StorageError> {
    let row = sqlx::query!(
        r#"
        select t.id, t.search_height, t.search_hash, t.search_found, t.search_missing_since,
               t.fee_max as "fee_max: BaseUnits",
               array(select c.coin from sweep_coin c where c.transaction_id = t.id order by c.coin) as "inputs!"
        from sweep_transaction t
        where t.network = $1 and t.tx_hash = $2
        "#,
        network.name(),
        hash
    )
    .fetch_optional(connection)
    .await?;
    row.map(|row| {
        Ok(Search {
            id: row.id,
            place: Place {
                height: cursors::from_column(row.search_height)?,
                hash: row.search_hash,
                found: row.search_found,
                missing_since: row.search_missing_since.map(cursors::from_column).transpose()?,
            },
            inputs: row.inputs,
            // Its fee is the rest of its inputs above its output: always the most.
            fees: HashMap::from([(hash.to_owned(), row.fee_max)]),
        })
    })
    .transpose()
}

/// Stores the position up to which the blocks were read.
pub async fn save_place(
    connection: &mut PgConnection,
    id: Uuid,
    place: &Place,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        update sweep_transaction
        set search_height = $2, search_hash = $3, search_found = $4, search_missing_since = $5
        where id = $1
        "#,
        id,
        cursors::to_column(place.height)?,
        place.hash,
        place.found,
        place.missing_since.map(cursors::to_column).transpose()?
    )
    .execute(connection)
    .await?;
    Ok(())
}
