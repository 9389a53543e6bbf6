//! Large deposits wait longer: reversing them is worth more to somebody.

use rust_decimal::Decimal;

use crate::{
    asset::{catalogue::Catalogue, fiat::Fiat},
    config::ChainSettings,
    invoice::quote,
    storage::{PgConnection, StorageError, deposits::Sighting, rates},
};

/// Confirmations that `sighting` needs for its size. A coin that never had a price counts as large: without one nobody
/// knows what is at stake.
pub(super) async fn confirmations(
    connection: &mut PgConnection,
    settings: &ChainSettings,
    sighting: &Sighting,
) -> Result<u64, StorageError> {
    let currency = sighting.token_id.as_deref().and_then(|id| Catalogue::get().by_token_id(id));
    let (Some(currency), Some(amount)) = (currency, sighting.amount) else { return Ok(1) };
    if settings.large_confirmations <= settings.confirmations {
        return Ok(1);
    }
    let price = rates::last_price(connection, currency.symbol, Fiat::Usd.code()).await?;
    let limit = Decimal::from(settings.large_amount_usd);
    let is_large = price.is_none_or(|price| {
        quote::amount_meets_minimum(amount, currency.decimals, price, limit).unwrap_or(true)
    });
    Ok(if is_large { settings.large_confirmations } else { 1 })
}
