//! Currencies, estimates and minimums.

use gateway::{
    app::market::{Offer, quote},
    invoice::{payment::json_number, schema},
    money::Price,
};
use serde::Serialize;
use serde_json::Number;
use utoipa::ToSchema;

/// The currencies on offer now.
#[derive(Debug, Serialize, ToSchema)]
pub struct Currencies {
    /// Codes only. The code of a native coin appears once for each network on which it is native.
    #[schema(value_type = Vec<String>)]
    pub currencies: Vec<&'static str>,
    /// One entry per chain and token.
    pub currencies_detailed: Vec<CurrencyEntry>,
}

/// A coin or token on one chain.
#[derive(Debug, Serialize, ToSchema)]
pub struct CurrencyEntry {
    /// As used in `pay_currency`.
    #[schema(value_type = String, examples("usdtmatic"))]
    pub code: &'static str,
    /// In upper case.
    #[schema(value_type = String, examples("USDT"))]
    pub symbol: &'static str,
    #[schema(value_type = schema::NetworkName)]
    pub chain: &'static str,
    #[schema(value_type = schema::StandardName)]
    pub standard: &'static str,
    /// Null for native coins.
    #[schema(value_type = Option<String>, required)]
    pub contract_address: Option<&'static str>,
    /// Decimals on its chain.
    #[schema(maximum = 24)]
    pub decimals: u8,
    /// The smallest invoice, in US dollars; the same as in `GET /v1/min-amount`.
    #[schema(value_type = schema::Amount)]
    pub min_amount_usd: Number,
}

impl Currencies {
    pub fn render(offers: &[Offer]) -> Self {
        let entry = |offer: &Offer| CurrencyEntry {
            code: offer.currency.code,
            symbol: offer.currency.symbol,
            chain: offer.currency.network.name(),
            standard: offer.currency.standard.name(),
            contract_address: offer.currency.contract,
            decimals: offer.currency.decimals,
            min_amount_usd: usd(offer.min_usd),
        };
        Self {
            currencies: offers.iter().map(|offer| offer.currency.code).collect(),
            currencies_detailed: offers.iter().map(entry).collect(),
        }
    }
}

/// What a price would cost now. Not binding.
#[derive(Debug, Serialize, ToSchema)]
pub struct Estimate {
    /// As in the request, in lower case.
    pub currency_from: String,
    /// The price, in `currency_from`.
    #[schema(value_type = schema::Amount)]
    pub amount_from: Number,
    /// As in the request, in lower case.
    pub currency_to: String,
    // A string, unlike the amounts of payment objects (spec, "Estimate response").
    /// The amount that would have to be paid, in whole units of `currency_to`, up to 8 decimal
    /// places.
    #[schema(value_type = schema::DecimalText)]
    pub estimated_amount: String,
    /// The smallest invoice, in US dollars.
    #[schema(value_type = schema::Amount)]
    pub min_amount_usd: Number,
    /// Whether the price is below the minimum; null unless `currency_from` is `usd`.
    #[schema(required)]
    pub below_minimum: Option<bool>,
}

impl Estimate {
    pub fn render(estimate: &quote::Estimate, amount: Price, from: &str, to: &str) -> Self {
        Self {
            currency_from: from.to_ascii_lowercase(),
            amount_from: json_number(&amount.to_decimal()),
            currency_to: to.to_ascii_lowercase(),
            estimated_amount: estimate.amount.clone(),
            min_amount_usd: usd(estimate.min_usd),
            below_minimum: estimate.below_minimum,
        }
    }
}

/// The smallest invoice in a currency.
#[derive(Debug, Serialize, ToSchema)]
pub struct MinAmount {
    /// As in the request; the minimum is always computed in US dollars.
    pub currency_from: String,
    /// Echoed.
    pub currency_to: String,
    /// In whole units of `currency_to`, up to 8 decimal places.
    #[schema(value_type = schema::Amount)]
    pub min_amount: Number,
    /// In US dollars.
    #[schema(value_type = schema::Amount)]
    pub min_amount_usd: Number,
}

impl MinAmount {
    pub fn render(minimum: &quote::Minimum, from: &str, to: &str) -> Self {
        Self {
            currency_from: from.to_owned(),
            currency_to: to.to_owned(),
            min_amount: json_number(&minimum.amount),
            min_amount_usd: usd(minimum.min_usd),
        }
    }
}

fn usd(amount: rust_decimal::Decimal) -> Number {
    json_number(&amount.normalize().to_string())
}
