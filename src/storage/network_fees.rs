//! Unit fees of each network, as its node last reported them.

use super::{PgConnection, StorageError, numeric};
use crate::{asset::Network, money::BaseUnits, payout::fee::Fee};

const TABLE: &str = "network_fee";

pub async fn store(
    connection: &mut PgConnection,
    network: Network,
    fee: Fee,
) -> Result<(), StorageError> {
    sqlx::query!(
        r#"
        insert into network_fee (network, fee_rate, data_fee) values ($1, $2, $3)
        on conflict (network) do update
        set fee_rate = excluded.fee_rate, data_fee = excluded.data_fee, observed_at = now()
        "#,
        network.name(),
        numeric::from_units(BaseUnits::new(fee.rate)),
        numeric::from_units(BaseUnits::new(fee.data))
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// The stored fee, unless it is older than `seconds`. Its tip is not stored.
pub async fn fresh(
    connection: &mut PgConnection,
    network: Network,
    seconds: i32,
) -> Result<Option<Fee>, StorageError> {
    let row = sqlx::query!(
        r#"
        select fee_rate, data_fee
        from network_fee
        where network = $1 and observed_at > now() - $2::int * interval '1 second'
        "#,
        network.name(),
        seconds
    )
    .fetch_optional(connection)
    .await?;
    row.map(|row| {
        let rate = numeric::to_units(TABLE, &row.fee_rate)?.get();
        Ok(Fee { data: numeric::to_units(TABLE, &row.data_fee)?.get(), ..Fee::of(rate) })
    })
    .transpose()
}
