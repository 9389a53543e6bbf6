//! `rates` and the names of currencies.

use rust_decimal::Decimal;

use crate::{
    app::{
        Gateway,
        market::{Market, Rate},
    },
    asset::{Fiat, catalogue::Catalogue},
    storage::{StorageError, access::Caller},
};

/// The currency of all rates. Clients convert by way of it, so it is listed also where it is not
/// sold.
const UNIT: &str = "BTC";
/// Places of `rate_btc`.
const PLACES: u32 = 24;

/// One entry of `rates`.
#[derive(Debug)]
pub struct Ticker {
    pub code: String,
    pub name: &'static str,
    pub is_fiat: bool,
    /// Payments can be made in it.
    pub is_sold: bool,
    /// The price of one unit in bitcoin, with 24 decimal places.
    pub rate_btc: String,
    /// Seconds since 1970.
    pub last_update: i64,
    /// Confirmations that a payment needs; 0 for fiat.
    pub confirmations: u64,
    pub explorer: &'static str,
    /// The merchant takes payments in it.
    pub accepted: bool,
}

impl Gateway {
    /// All currencies on sale that have a fresh rate, and [`UNIT`]; fiat currencies first.
    pub async fn legacy_rates(&self, caller: &Caller) -> Result<Vec<Ticker>, StorageError> {
        let market = self.market().await?;
        let mut found: Vec<_> =
            Fiat::ALL.into_iter().filter_map(|fiat| fiat_ticker(&market, fiat)).collect();
        let Ok(bitcoin) = market.fresh_rate(UNIT, Fiat::Usd) else { return Ok(found) };
        for currency in Catalogue::get().all() {
            let (token_id, code) = (currency.token_id(), currency.legacy_code());
            let is_sold = market.offer(&token_id).is_some();
            if !is_sold && code != UNIT {
                continue;
            }
            let Ok(rate) = market.fresh_rate(currency.symbol, Fiat::Usd) else { continue };
            let Some(rate_btc) = quotient(rate.price, bitcoin.price) else { continue };
            let accepted = caller.accepted_tokens.as_ref();
            found.push(Ticker {
                code,
                name: currency.name,
                is_fiat: false,
                is_sold,
                rate_btc,
                last_update: rate.observed_at.timestamp(),
                confirmations: self.config.chain(currency.network).confirmations,
                explorer: currency.network.explorer_tx_url(),
                accepted: is_sold && accepted.is_none_or(|accepted| accepted.contains(&token_id)),
            });
        }
        Ok(found)
    }

    /// The codes of all currencies that are on sale, with or without a rate.
    pub async fn legacy_codes(&self) -> Result<Vec<String>, StorageError> {
        let market = self.market().await?;
        Ok(market.offers().iter().map(|offer| offer.currency.legacy_code()).collect())
    }
}

fn fiat_ticker(market: &Market, fiat: Fiat) -> Option<Ticker> {
    let Rate { price, observed_at, .. } = market.fresh_rate(UNIT, fiat).ok()?;
    Some(Ticker {
        code: fiat.code_upper().to_owned(),
        name: name(fiat),
        is_fiat: true,
        is_sold: false,
        rate_btc: quotient(Decimal::ONE, *price)?,
        last_update: observed_at.timestamp(),
        confirmations: 0,
        explorer: "",
        accepted: false,
    })
}

const fn name(fiat: Fiat) -> &'static str {
    match fiat {
        Fiat::Usd => "United States Dollar",
        Fiat::Eur => "Euro",
        Fiat::Gbp => "British Pound",
    }
}

/// For information only: it has 28 significant digits at most.
fn quotient(dividend: Decimal, divisor: Decimal) -> Option<String> {
    let quotient = dividend.checked_div(divisor)?.round_dp(PLACES);
    let text = quotient.normalize().to_string();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    Some(format!("{whole}.{fraction:0<24}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_has_24_places() {
        for (dividend, divisor, expected) in [
            ("1", "60000", "0.000016666666666666666667"),
            ("3000", "60000", "0.050000000000000000000000"),
            ("60000.10", "60000.1", "1.000000000000000000000000"),
        ] {
            let quotient = quotient(dividend.parse().unwrap(), divisor.parse().unwrap());
            assert_eq!(quotient.as_deref(), Some(expected));
        }
        assert_eq!(quotient(Decimal::ONE, Decimal::ZERO), None);
    }
}
