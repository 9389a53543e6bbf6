//! A change of a currency in the dashboard: its effect first, then the change itself, if nobody
//! else has made one meanwhile.

use rust_decimal::Decimal;

use super::set_currency::{CurrencyError, CurrencyState, check_minimum};
use crate::app::Gateway;
use crate::{
    asset::{catalogue::Currency, fiat::Fiat},
    storage::{
        StorageError, currencies,
        operator::currency_effect::{self, CurrencyEffect},
        rates,
    },
};

/// A currency with the effect of a change on the payments of 30 days.
pub struct Weighed {
    pub state: CurrencyState,
    pub effect: CurrencyEffect,
    /// The price of one whole coin in US dollars, by which amounts were compared.
    pub price_usd: Option<Decimal>,
}

/// A text that every change of the setting changes.
pub fn version(state: &CurrencyState) -> String {
    format!("{}:{}", u8::from(state.enabled), state.min_usd.normalize())
}

impl Gateway {
    /// The effect of a new minimum, or without one the payments that a currency has.
    pub async fn weigh_currency(
        &self,
        currency: &'static Currency,
        min_usd: Option<Decimal>,
    ) -> Result<Weighed, CurrencyError> {
        if let Some(min_usd) = min_usd {
            check_minimum(min_usd)?;
        }
        let state = self.currency_state(currency).await?;
        let mut connection = self.db.connection().await?;
        let price = rates::last_price(&mut connection, currency.symbol, Fiat::Usd.code()).await?;
        let minimum = min_usd.zip(price);
        let id = currency.token_id();
        let effect = currency_effect::of(&mut connection, &id, minimum).await?;
        Ok(Weighed { state, effect, price_usd: price })
    }

    /// A currency as it is set now.
    pub async fn currency_state(
        &self,
        currency: &'static Currency,
    ) -> Result<CurrencyState, StorageError> {
        let all = self.currencies().await?;
        let found = all.into_iter().find(|state| std::ptr::eq(state.currency, currency));
        found.ok_or_else(|| StorageError::damaged("currency_setting", "the catalogue lacks it"))
    }

    /// Sets a currency that was seen in a form: refused if it is no longer of that version.
    pub async fn set_currency_seen(
        &self,
        currency: &'static Currency,
        seen: &str,
        (enabled, min_usd): (bool, Decimal),
    ) -> Result<(), CurrencyError> {
        let min_usd = check_minimum(min_usd)?;
        let id = currency.token_id();
        let mut tx = self.db.begin().await?;
        currencies::lock(&mut tx).await?;
        let settings = currencies::all(&mut tx).await?;
        let setting = settings.iter().find(|setting| setting.token_id == id);
        let before = self.state_of(currency, setting);
        if version(&before) != seen {
            return Err(CurrencyError::ChangedMeanwhile);
        }
        if before.enabled != enabled {
            currencies::set_enabled(&mut tx, &id, enabled).await?;
        }
        if before.min_usd.normalize() != min_usd {
            currencies::set_min_usd(&mut tx, &id, min_usd).await?;
        }
        tx.commit().await.map_err(StorageError::from)?;
        Ok(())
    }
}
