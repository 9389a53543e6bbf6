//! The currencies that the buyer of a draft may choose from (spec, "Unresolved draft").

use serde::Serialize;
use serde_json::Number;
use utoipa::ToSchema;

use crate::app::market::{Market, Offer, quote::price_in};
use crate::{
    asset::fiat::Fiat,
    invoice::{payment::json_number, schema},
    storage::invoices::Invoice,
};

/// One entry of `accepted_currencies`. Its fields are frozen.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AcceptedCurrency {
    /// The symbol, in upper case.
    #[schema(value_type = String, examples("USDT"))]
    pub currency: &'static str,
    #[schema(value_type = schema::NetworkName)]
    pub network: &'static str,
    #[schema(value_type = schema::StandardName)]
    pub standard: &'static str,
    /// The amount that would have to be paid now, in whole units; not binding; null while there is
    /// no fresh rate.
    #[schema(value_type = Option<schema::Amount>, required)]
    pub estimated_amount: Option<Number>,
    /// The smallest price in this currency, in US dollars.
    #[schema(value_type = schema::Amount)]
    pub min_usd: Number,
    /// Identifies this choice on the checkout: `code@network`.
    #[schema(examples("usdtmatic@polygon"))]
    pub token_id: String,
}

/// The snapshot of an unresolved draft, without currencies that were disabled since. `None` for
/// anything else.
///
/// A draft that was abandoned or cancelled has no currency either: it stays unresolved, and out of
/// the list.
pub fn accepted_currencies(market: &Market, invoice: &Invoice) -> Option<Vec<AcceptedCurrency>> {
    if invoice.is_resolved() {
        return None;
    }
    let tokens = invoice.accepted_tokens.as_deref().unwrap_or_default();
    let offers = tokens.iter().filter_map(|token| market.offer(token));
    Some(offers.map(|offer| entry(market, offer, invoice)).collect())
}

fn entry(market: &Market, offer: &Offer, invoice: &Invoice) -> AcceptedCurrency {
    let currency = offer.currency;
    let fiat = invoice.view.price_currency.parse::<Fiat>().ok();
    let estimate =
        fiat.and_then(|fiat| price_in(market, offer, invoice.view.price_amount, fiat).ok());
    let decimals = u32::from(currency.decimals);
    AcceptedCurrency {
        currency: currency.symbol,
        network: currency.network.name(),
        standard: currency.standard.name(),
        estimated_amount: estimate.map(|amount| json_number(&amount.to_decimal(decimals))),
        min_usd: json_number(&offer.min_usd.normalize().to_string()),
        token_id: currency.token_id(),
    }
}
