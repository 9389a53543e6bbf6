//! Amounts that sweeps took from deposit addresses, for the comparison of balances.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use crate::{
    asset::Network,
    money::BaseUnits,
    storage::{PgConnection, StorageError, cursors, numeric},
};

/// Amounts that final sweeps up to `height` took from addresses, by address and token: the moved
/// ones, and where an account sends, the fees of those that moved nothing too. Index:
/// `sweep_coin_by_address`.
pub async fn taken(
    connection: &mut PgConnection,
    network: Network,
    native_token_id: &str,
    address_ids: &[Uuid],
    height: u64,
) -> Result<HashMap<(Uuid, String), BaseUnits>, StorageError> {
    let rows = sqlx::query!(
        r#"
        select c.address_id, t.token_id as "token_id!", sum(t.amount) as "sum!"
        from sweep_coin c
        join sweep_transaction s on s.id = c.transaction_id
        cross join lateral (
            values (c.token_id, case when s.state = 'confirmed' then c.amount else 0 end),
                   ($2::text, case when s.sender is not null and not s.relayed then coalesce(s.fee, 0) else 0 end)
        ) as t (token_id, amount)
        where c.address_id = any ($3) and c.network = $1 and s.state in ('confirmed', 'failed') and s.height <= $4
        group by c.address_id, t.token_id
        "#,
        network.name(),
        native_token_id,
        address_ids,
        cursors::to_column(height)?
    )
    .fetch_all(connection)
    .await?;
    rows.into_iter()
        .map(|row| {
            let sum = numeric::to_units("sweep_coin", &row.sum)?;
            Ok(((row.address_id, row.token_id), sum))
        })
        .collect()
}

/// The addresses among `address_ids` from which transactions are under way. Index:
/// `sweep_coin_by_address`.
pub async fn moving(
    connection: &mut PgConnection,
    network: Network,
    address_ids: &[Uuid],
) -> Result<HashSet<Uuid>, StorageError> {
    let rows = sqlx::query_scalar!(
        r#"
        select distinct c.address_id
        from sweep_coin c
        join sweep_transaction s on s.id = c.transaction_id
        where c.address_id = any ($2) and c.network = $1 and s.state in ('signed', 'sent')
        "#,
        network.name(),
        address_ids
    )
    .fetch_all(connection)
    .await?;
    Ok(rows.into_iter().collect())
}
