//! Currencies, estimates and minimums.

use gateway::{
    app::{
        Gateway,
        market::{Offer, quote},
    },
    asset::{Fiat, Network},
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
    /// Currencies in which a price can be given.
    #[schema(value_type = Vec<String>)]
    pub fiat_currencies: [&'static str; Fiat::ALL.len()],
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
    /// The name for people.
    #[schema(value_type = String, examples("Tether USD"))]
    pub name: &'static str,
    /// The name of the chain in wallets and exchanges.
    #[schema(value_type = String, examples("Polygon"))]
    pub chain_name: &'static str,
    /// The confirmations with which a deposit counts; a large one may need more.
    #[schema(minimum = 1)]
    pub confirmations: u64,
    /// A block explorer's page of a transaction, with `{tx_hash}` in place of the hash; null where
    /// no public explorer exists, as in the sandbox.
    #[schema(value_type = Option<String>, required)]
    pub explorer_tx_url: Option<&'static str>,
    /// A block explorer's page of an address, with `{address}` in place of it; null likewise.
    #[schema(value_type = Option<String>, required)]
    pub explorer_address_url: Option<&'static str>,
}

impl Currencies {
    pub fn render(gateway: &Gateway, offers: &[Offer]) -> Self {
        let linked = |offer: &Offer| {
            Some(offer.currency.network).filter(|network| gateway.has_explorer(*network))
        };
        let entry = |offer: &Offer| CurrencyEntry {
            name: offer.currency.name,
            chain_name: offer.currency.network.title(),
            confirmations: gateway.config.chain(offer.currency.network).confirmations,
            explorer_tx_url: linked(offer).map(Network::explorer_tx_url),
            explorer_address_url: linked(offer).map(Network::explorer_address_url),
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
            fiat_currencies: Fiat::ALL.map(Fiat::code),
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
