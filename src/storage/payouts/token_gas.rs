//! The gas that a transfer of each token takes, measured by receipts of our own payments.

use crate::storage::{PgConnection, StorageError};

/// Notes the gas of transfers that a block holds.
///
/// The highest counts, because the first tokens of a recipient take more than the next ones. It
/// falls by a part with every note, so that one dear transfer is forgotten again.
pub async fn note(
    connection: &mut PgConnection,
    token_id: &str,
    gas: u64,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        insert into token_gas (token_id, gas) values ($1, $2)
        on conflict (token_id) do update
        set gas = greatest(excluded.gas, token_gas.gas - token_gas.gas / 32), observed_at = now()
        "#,
        token_id,
        i64::try_from(gas).unwrap_or(i64::MAX)
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The measured gas of one transfer; `None` before the first.
pub async fn measured(
    connection: &mut PgConnection,
    token_id: &str,
) -> Result<Option<u128>, StorageError> {
    let row = sqlx::query!("select gas from token_gas where token_id = $1", token_id)
        .fetch_optional(connection)
        .await?;
    Ok(row.map(|row| u128::from(row.gas.unsigned_abs())))
}
