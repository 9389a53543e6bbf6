//! Currencies that the buyer's page offers for a draft: the merchant's currencies with an estimate,
//! and the reason why some cannot be chosen.

use rust_decimal::Decimal;

use crate::app::{
    Gateway,
    market::{Market, Offer, quote::price_in},
};
use crate::{
    asset::{
        catalogue::{Catalogue, Currency},
        fiat::Fiat,
    },
    invoice::quote,
    money::{BaseUnits, Price},
    storage::{StorageError, invoices, links, merchants},
};

/// One currency of the merchant.
#[derive(Debug, Clone)]
pub struct Choice {
    pub currency: &'static Currency,
    /// Estimate at the present spot rate, not binding.
    pub estimate: Option<BaseUnits>,
    /// Minimum invoice on this network; `None` if the network is switched off.
    pub min_usd: Option<Decimal>,
    pub standing: Standing,
}

/// Eligibility of a currency for this invoice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Eligible,
    /// The price is below the network's minimum.
    BelowMinimum {
        min_usd: Decimal,
    },
    /// There is no fresh rate, or the currency was switched off since.
    Unavailable,
}

impl Gateway {
    /// Choices in the catalogue's order. A currency outside the invoice's snapshot can never be
    /// chosen; it is listed because the merchant accepts it and the buyer would otherwise look for
    /// it.
    pub async fn currency_choices(&self, payment_id: &str) -> Result<Vec<Choice>, StorageError> {
        let market = self.market().await?;
        let mut connection = self.db.connection().await?;
        let Some(invoice) = invoices::by_payment_id(&mut connection, payment_id).await? else {
            return Ok(Vec::new());
        };
        let merchant = merchants::by_id(&mut connection, invoice.merchant_id).await?;
        let accepted = merchant.and_then(|merchant| merchant.accepted_tokens);
        // A buyer on a link's page looks for no currency that the link leaves out.
        let of_link = match invoice.link_id {
            Some(link) => links::accepted_tokens(&mut connection, link).await?,
            None => None,
        };
        drop(connection);
        let snapshot = invoice.accepted_tokens.unwrap_or_default();
        let price = invoice.view.price_amount;
        let fiat = invoice.view.price_currency.parse::<Fiat>().ok();
        let choice = |currency: &'static Currency| {
            let token_id = currency.token_id();
            let promised = snapshot.contains(&token_id);
            let offer = market.offer(&token_id);
            let lists = [&accepted, &of_link];
            let accepts = lists
                .iter()
                .all(|list| list.as_ref().is_none_or(|tokens| tokens.contains(&token_id)));
            let offered = accepts && offer.is_some();
            if !promised && !offered {
                return None;
            }
            let (estimate, standing) = match (offer, fiat) {
                (Some(offer), Some(fiat)) => judge(&market, offer, price, fiat),
                _ => (None, Standing::Unavailable),
            };
            let unpromised = standing == Standing::Eligible && !promised;
            let standing = if unpromised { Standing::Unavailable } else { standing };
            let min_usd = offer.map(|offer| offer.min_usd);
            Some(Choice { currency, estimate, min_usd, standing })
        };
        Ok(Catalogue::get().all().iter().filter_map(choice).collect())
    }
}

pub(crate) fn judge(
    market: &Market,
    offer: &Offer,
    price: Price,
    fiat: Fiat,
) -> (Option<BaseUnits>, Standing) {
    let symbol = offer.currency.symbol;
    let rates = (market.fresh_rate(symbol, fiat), market.fresh_rate(symbol, Fiat::Usd));
    let (Ok(rate), Ok(usd)) = rates else { return (None, Standing::Unavailable) };
    let estimate = price_in(market, offer, price, fiat).ok();
    let standing = match quote::meets_minimum(price, rate.price, usd.price, offer.min_usd) {
        Ok(true) if estimate.is_some() => Standing::Eligible,
        Ok(false) => Standing::BelowMinimum { min_usd: offer.min_usd },
        Ok(true) | Err(_) => Standing::Unavailable,
    };
    (estimate, standing)
}
