//! Prices for information only: the estimate and the minimum.

use rust_decimal::Decimal;

use super::{Market, NoFreshRate, Offer};
use crate::app::Gateway;
use crate::{
    asset::fiat::Fiat,
    invoice::quote::{self, QuoteError},
    money::{BaseUnits, Price},
    storage::StorageError,
};

#[derive(Debug, thiserror::Error)]
pub enum AskError {
    #[error("the currency is not supported")]
    CurrencyNotSupported,
    #[error(transparent)]
    NoFreshRate(#[from] NoFreshRate),
    #[error(transparent)]
    Quote(#[from] QuoteError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Answer to a request for an estimate.
#[derive(Debug)]
pub struct Estimate {
    /// Whole coins, at most eight places, rounded up: the amount of an invoice of this price
    /// created now.
    pub amount: String,
    pub min_usd: Decimal,
    /// Known only for prices in USD (spec, "Estimate response").
    pub below_minimum: Option<bool>,
}

#[derive(Debug)]
pub struct Minimum {
    /// Whole coins, at most eight places, rounded up.
    pub amount: String,
    pub min_usd: Decimal,
}

impl Gateway {
    pub async fn estimate(
        &self,
        price: Price,
        fiat: Fiat,
        pay_currency: &str,
        network: Option<&str>,
    ) -> Result<Estimate, AskError> {
        let market = self.market().await?;
        let offer = market.resolve(pay_currency, network).ok_or(AskError::CurrencyNotSupported)?;
        let amount = price_in(&market, offer, price, fiat)?;
        let minimum = quote::price_of(offer.min_usd)?;
        Ok(Estimate {
            amount: amount.to_decimal(u32::from(offer.currency.decimals)),
            min_usd: offer.min_usd,
            below_minimum: (fiat == Fiat::Usd).then_some(price < minimum),
        })
    }

    /// Informational, so it falls back to the last stored rate if no fresh one exists.
    pub async fn minimum(
        &self,
        pay_currency: &str,
        network: Option<&str>,
    ) -> Result<Minimum, AskError> {
        let market = self.market().await?;
        let offer = market.resolve(pay_currency, network).ok_or(AskError::CurrencyNotSupported)?;
        let rate = market.last_rate(offer.currency.symbol, Fiat::Usd).ok_or(NoFreshRate)?;
        let minimum = quote::price_of(offer.min_usd)?;
        let decimals = offer.currency.decimals;
        let amount = if minimum.is_zero() {
            BaseUnits::ZERO
        } else {
            quote::pay_amount(minimum, rate.price, decimals)?
        };
        Ok(Minimum { amount: amount.to_decimal(u32::from(decimals)), min_usd: offer.min_usd })
    }
}

/// `price` in an offered currency at a fresh rate.
pub(crate) fn price_in(
    market: &Market,
    offer: &Offer,
    price: Price,
    fiat: Fiat,
) -> Result<BaseUnits, AskError> {
    let rate = market.fresh_rate(offer.currency.symbol, fiat)?;
    Ok(quote::pay_amount(price, rate.price, offer.currency.decimals)?)
}
