//! Large amounts need more confirmations: a double-spend of them is worth more to an attacker.
//!
//! The amount is the total that one invoice or order has received in an asset, or its requested
//! amount if that is larger, not the value of one transfer. Otherwise a payer could split a large
//! payment, even into outputs of one transaction, to get the shorter wait of a small one.

use rust_decimal::Decimal;
use uuid::Uuid;

use crate::{
    asset::{catalogue::Catalogue, fiat::Fiat},
    config::ChainSettings,
    invoice::quote,
    money::BaseUnits,
    storage::{PgConnection, StorageError, deposits::amounts, rates},
};

/// Raises the required confirmations of all deposits of these invoices and orders that are not
/// final, where the total is large. Call it under their row locks.
pub(super) async fn require_confirmations(
    connection: &mut PgConnection,
    settings: &ChainSettings,
    owners: (&[Uuid], &[Uuid]),
) -> Result<(), StorageError> {
    if settings.large_confirmations <= settings.confirmations {
        return Ok(());
    }
    for amount in amounts::of_owners(connection, settings.network, owners).await? {
        if is_large(connection, settings, (&amount.token_id, amount.units)).await? {
            amounts::require_confirmations(connection, &amount, settings.large_confirmations)
                .await?;
        }
    }
    Ok(())
}

/// The same at addresses that have neither. Each deposit there is a payment of its own, so the
/// amount is the sum of those on their way.
pub(super) async fn require_confirmations_at(
    connection: &mut PgConnection,
    settings: &ChainSettings,
    address_ids: &[Uuid],
) -> Result<(), StorageError> {
    if address_ids.is_empty() || settings.large_confirmations <= settings.confirmations {
        return Ok(());
    }
    for amount in amounts::on_their_way(connection, settings.network, address_ids).await? {
        if is_large(connection, settings, (&amount.token_id, amount.units)).await? {
            let confirmations = settings.large_confirmations;
            amounts::require_confirmations_at(connection, &amount, confirmations).await?;
        }
    }
    Ok(())
}

/// A coin that never had a price counts as large: without a price the value at risk is unknown.
async fn is_large(
    connection: &mut PgConnection,
    settings: &ChainSettings,
    (token_id, units): (&str, BaseUnits),
) -> Result<bool, StorageError> {
    let Some(currency) = Catalogue::get().by_token_id(token_id) else { return Ok(false) };
    let price = rates::last_price(connection, currency.symbol, Fiat::Usd.code()).await?;
    let limit = Decimal::from(settings.large_amount_usd);
    Ok(price.is_none_or(|price| {
        quote::amount_meets_minimum(units, currency.decimals, price, limit).unwrap_or(true)
    }))
}
