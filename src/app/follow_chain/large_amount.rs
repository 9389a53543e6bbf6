//! Large amounts wait longer: reversing them is worth more to somebody.
//!
//! An amount is what one invoice or order has got in an asset, or asks for if that is more, and not what one transfer moves.
//! Else whoever pays in parts, were they outputs of one transaction, would wait as little as who pays little.

use rust_decimal::Decimal;
use uuid::Uuid;

use crate::{
    asset::{catalogue::Catalogue, fiat::Fiat},
    config::ChainSettings,
    invoice::quote,
    storage::{
        PgConnection, StorageError,
        deposits::amounts::{self, Amount},
        rates,
    },
};

/// Asks more confirmations of all that these invoices and orders have got and that is not final, where that is much. Call it
/// under their row locks.
pub(super) async fn require_confirmations(
    connection: &mut PgConnection,
    settings: &ChainSettings,
    owners: (&[Uuid], &[Uuid]),
) -> Result<(), StorageError> {
    if settings.large_confirmations <= settings.confirmations {
        return Ok(());
    }
    for amount in amounts::of_owners(connection, settings.network, owners).await? {
        if is_large(connection, settings, &amount).await? {
            amounts::require_confirmations(connection, &amount, settings.large_confirmations)
                .await?;
        }
    }
    Ok(())
}

/// A coin that never had a price counts as large: without one nobody knows what is at stake.
async fn is_large(
    connection: &mut PgConnection,
    settings: &ChainSettings,
    amount: &Amount,
) -> Result<bool, StorageError> {
    let Some(currency) = Catalogue::get().by_token_id(&amount.token_id) else { return Ok(false) };
    let price = rates::last_price(connection, currency.symbol, Fiat::Usd.code()).await?;
    let limit = Decimal::from(settings.large_amount_usd);
    Ok(price.is_none_or(|price| {
        quote::amount_meets_minimum(amount.units, currency.decimals, price, limit).unwrap_or(true)
    }))
}
