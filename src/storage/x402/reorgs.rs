//! Settlements whose block a reorg replaced after they had ended.

use uuid::Uuid;

use crate::{
    asset::Network,
    money::BaseUnits,
    storage::{PgConnection, StorageError, cursors, numeric},
    x402::settlement::State,
};

const TABLE: &str = "x402_settlement";

/// Marks the ended settlements of a network in blocks above `height`, which a reorg replaced.
/// Returns their number. Index: `x402_settlement_by_height`.
pub async fn mark_above(
    connection: &mut PgConnection,
    network: Network,
    height: u64,
) -> Result<u64, StorageError> {
    let done = sqlx::query!(
        r#"
        update x402_settlement
        set reorged_at = now()
        where network = $1 and height > $2 and state in ('settled', 'failed') and reorged_at is null
        "#,
        network.name(),
        cursors::to_column(height)?
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected())
}

/// A settlement that had ended in a block that is gone.
#[derive(Debug, Clone)]
pub struct Reorged {
    pub id: Uuid,
    pub state: State,
    /// The fee that was booked with its end.
    pub fee: BaseUnits,
    pub height: u64,
}

/// Up to `limit` settlements of a network that had ended in blocks that are gone. Index:
/// `x402_settlement_reorged`.
pub async fn marked(
    connection: &mut PgConnection,
    network: Network,
    limit: i64,
) -> Result<Vec<Reorged>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select id, state, coalesce(fee, 0) as "fee!", height as "height!"
        from x402_settlement
        where network = $1 and reorged_at is not null and height is not null
        limit $2
        "#,
        network.name(),
        limit
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(Reorged {
                id: row.id,
                state: row.state.parse().map_err(|error| StorageError::damaged(TABLE, error))?,
                fee: numeric::to_units(TABLE, &row.fee)?,
                height: cursors::from_column(row.height)?,
            })
        })
        .collect()
}

/// Takes back the end of a settlement: it waits for a block again. From now on its ledger entries
/// have `booked_as` as their source. The next step hands the same bytes in again, which a node that
/// has them on its new branch refuses, and looks for them. `false` if another worker was first.
pub async fn take_back(
    connection: &mut PgConnection,
    reorged: &Reorged,
    to: State,
    booked_as: Uuid,
) -> Result<bool, StorageError> {
    let done = sqlx::query!(
        r#"
        update x402_settlement
        set state = $3, reason = null, message = null, fee = null, height = null, ended_at = null, reorged_at = null,
            sent_at = null, booked_as = $4
        where id = $1 and state = $2 and reorged_at is not null
        "#,
        reorged.id,
        reorged.state.as_str(),
        to.as_str(),
        booked_as
    )
    .execute(connection)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// True if the payment of a deposit was told already: another version of its settlement's
/// transaction brought it before a reorg, and its loss is not told. That version may still be in
/// the books. Indices: `x402_version_hash_unique`, `x402_version_pkey`, `deposit_by_transaction`.
pub async fn was_told(
    connection: &mut PgConnection,
    deposit_id: Uuid,
) -> Result<bool, StorageError> {
    let was_told = sqlx::query_scalar!(
        r#"
        select exists (
            select
            from deposit d
            join x402_version v on v.tx_hash = d.tx_hash
            join x402_version other on other.settlement_id = v.settlement_id and other.tx_hash <> v.tx_hash
            join deposit old on old.network = d.network and old.tx_hash = other.tx_hash and old.address_id = d.address_id
            where d.id = $1 and old.booked_as = 'credit'
        ) as "was_told!"
        "#,
        deposit_id
    )
    .fetch_one(connection)
    .await?;
    Ok(was_told)
}
