//! What one settlement costs at present, per network: the role notes it, and everybody who decides
//! whether a payment is worth its gas reads it.

use std::collections::HashMap;

use crate::{
    asset::Network,
    storage::{PgConnection, StorageError},
};

/// Notes the cost of one settlement on a network, in millionths of a USD.
pub async fn note(
    connection: &mut PgConnection,
    network: Network,
    usd_micros: i64,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        insert into x402_cost (network, usd_micros) values ($1, $2)
        on conflict (network) do update set usd_micros = $2, noted_at = clock_timestamp()
        "#,
        network.name(),
        usd_micros
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The costs that are not older than ten minutes: a price of gas from before says nothing of now.
/// One row per network.
pub async fn present(connection: &mut PgConnection) -> Result<HashMap<Network, u64>, StorageError> {
    let rows = sqlx::query!(
        "select network, usd_micros from x402_cost where noted_at > now() - interval '10 minutes'"
    )
    .fetch_all(connection)
    .await?;
    let known = rows.into_iter().filter_map(|row| {
        // A network of another release is nobody's here.
        Some((row.network.parse::<Network>().ok()?, u64::try_from(row.usd_micros).ok()?))
    });
    Ok(known.collect())
}
