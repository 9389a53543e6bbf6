//! What a unit of work costs on each network, as its node told last.

use super::{PgConnection, StorageError, numeric};
use crate::{asset::Network, money::BaseUnits};

pub async fn store(
    connection: &mut PgConnection,
    network: Network,
    fee_rate: u128,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        insert into network_fee (network, fee_rate) values ($1, $2)
        on conflict (network) do update set fee_rate = excluded.fee_rate, observed_at = now()
        "#,
        network.name(),
        numeric::from_units(BaseUnits::new(fee_rate))
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The stored fee, unless it is older than `seconds`.
pub async fn fresh(
    connection: &mut PgConnection,
    network: Network,
    seconds: i32,
) -> Result<Option<u128>, StorageError> {
    let rate = sqlx::query_scalar!(
        "select fee_rate from network_fee where network = $1 and observed_at > now() - $2::int * interval '1 second'",
        network.name(),
        seconds
    )
    .fetch_optional(connection)
    .await?;
    rate.map(|rate| Ok(numeric::to_units("network_fee", &rate)?.get())).transpose()
}
