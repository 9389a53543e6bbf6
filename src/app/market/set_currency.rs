//! Changes of the catalogue by an operator: accepted currencies and their minimums.

use std::collections::HashMap;

use rust_decimal::Decimal;

use crate::app::Gateway;
use crate::{
    asset::catalogue::{Catalogue, Currency},
    config::ChainSourceKind,
    storage::{StorageError, currencies, currencies::CurrencySetting},
};

/// Limits of the column: twelve digits before the point and six behind.
const MIN_USD_SCALE: u32 = 6;
const MIN_USD_BELOW: Decimal = Decimal::from_parts(3_567_587_328, 232, 0, false, 0);

#[derive(Debug, thiserror::Error)]
pub enum CurrencyError {
    #[error("a minimum is 0 or more US dollars, at most {MIN_USD_SCALE} decimals")]
    Minimum,
    #[error("somebody changed this meanwhile; look at it as it is now, and decide again")]
    ChangedMeanwhile,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// A catalogue entry as this stack offers it.
#[derive(Debug, Clone)]
pub struct CurrencyState {
    pub currency: &'static Currency,
    pub enabled: bool,
    pub min_usd: Decimal,
    /// True if its network is followed; an enabled currency of another network is not offered.
    pub network_on: bool,
}

#[derive(Debug, Clone, Copy)]
pub enum Change {
    Enable,
    Disable,
    MinUsd(Decimal),
}

impl Gateway {
    /// All entries in catalogue order, disabled ones too.
    pub async fn currencies(&self) -> Result<Vec<CurrencyState>, StorageError> {
        let mut connection = self.db.connection().await?;
        let settings = currencies::all(&mut connection).await?.into_iter();
        let settings: HashMap<_, _> = settings.map(|s| (s.token_id.clone(), s)).collect();
        let all = Catalogue::get().all().iter();
        Ok(all
            .map(|currency| self.state_of(currency, settings.get(&currency.token_id())))
            .collect())
    }

    pub(super) fn state_of(
        &self,
        currency: &'static Currency,
        setting: Option<&CurrencySetting>,
    ) -> CurrencyState {
        CurrencyState {
            currency,
            enabled: setting.and_then(|s| s.enabled).unwrap_or(currency.enabled_by_default),
            min_usd: setting.and_then(|s| s.min_usd).unwrap_or(currency.min_usd),
            network_on: self.config.chain(currency.network).source != ChainSourceKind::Off,
        }
    }

    /// Takes effect for new quotes and invoices within seconds; open invoices are unaffected.
    pub async fn set_currency(
        &self,
        currency: &'static Currency,
        change: Change,
    ) -> Result<CurrencyState, CurrencyError> {
        let id = currency.token_id();
        let mut connection = self.db.connection().await?;
        match change {
            Change::Enable => currencies::set_enabled(&mut connection, &id, true).await?,
            Change::Disable => currencies::set_enabled(&mut connection, &id, false).await?,
            Change::MinUsd(min_usd) => {
                let min_usd = check_minimum(min_usd)?;
                currencies::set_min_usd(&mut connection, &id, min_usd).await?;
            }
        }
        let settings = currencies::all(&mut connection).await?;
        let setting = settings.iter().find(|setting| setting.token_id == id);
        Ok(self.state_of(currency, setting))
    }
}

/// A minimum as the column keeps it.
pub(super) fn check_minimum(min_usd: Decimal) -> Result<Decimal, CurrencyError> {
    let min_usd = min_usd.normalize();
    let fits = min_usd.scale() <= MIN_USD_SCALE && min_usd < MIN_USD_BELOW;
    if min_usd.is_sign_negative() || !fits { Err(CurrencyError::Minimum) } else { Ok(min_usd) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_of_a_minimum_is_a_trillion_dollars() {
        assert_eq!(MIN_USD_BELOW, Decimal::from(1_000_000_000_000_u64));
    }
}
