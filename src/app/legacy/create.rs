//! `create_transaction`: an invoice in one currency, with an address at once.

use crate::app::{
    Gateway,
    invoice::create::{NewInvoice, PayWith, quote_request},
    market::{Market, NoFreshRate, Offer},
    operator::measure::count_transition,
};
use crate::{
    asset::{Fiat, catalogue::Catalogue, catalogue::Currency},
    invoice::{Pricing, quote},
    legacy::{
        Refusal,
        amount::{self, price_rounded_up},
        order::{Fields, IpnType, Order},
    },
    money::Price,
    storage::{StorageError, access::Caller, invoices::Invoice, legacy_payments, merchants},
};

use super::LegacyError;

/// A validated `create_transaction`.
#[derive(Debug, Clone)]
pub struct NewTransaction {
    pub amount: Price,
    /// Currency of the price and currency of the payment, as sent.
    pub currency1: String,
    pub currency2: String,
    pub terms: Terms,
}

/// The parts of an order that do not concern money.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    pub order_id: Option<String>,
    pub order_description: Option<String>,
    pub ipn_callback_url: Option<String>,
    pub success_url: Option<String>,
    pub cancel_url: Option<String>,
    /// Repeated in every IPN.
    pub fields: Fields,
}

/// A new invoice of the adapter.
#[derive(Debug)]
pub struct Transaction {
    pub invoice: Invoice,
    pub order: Order,
    pub confirmations_needed: u64,
}

/// Currency of a price.
#[derive(Debug, Clone, Copy)]
pub(super) enum PricedIn {
    Fiat(Fiat),
    Coin(&'static Currency),
}

impl PricedIn {
    pub(super) fn named(code: &str) -> Option<Self> {
        let coin = || Catalogue::get().by_legacy_code(code).map(Self::Coin);
        code.parse().ok().map(Self::Fiat).or_else(coin)
    }

    /// As the dialect writes it.
    pub(super) fn code(self) -> String {
        match self {
            Self::Fiat(fiat) => fiat.code_upper().to_owned(),
            Self::Coin(coin) => coin.legacy_code(),
        }
    }

    /// Price and currency of an invoice whose payer may use any currency: a price in a coin becomes
    /// one in USD, at the rate of this moment.
    pub(super) fn in_fiat(
        self,
        market: &Market,
        price: Price,
    ) -> Result<(Price, Fiat), LegacyError> {
        let coin = match self {
            Self::Fiat(fiat) => return Ok((price, fiat)),
            Self::Coin(coin) => coin,
        };
        let rate = market.fresh_rate(coin.symbol, Fiat::Usd);
        let rate = rate.map_err(|NoFreshRate| Refusal::NoRate)?;
        let value = quote::value_rounded_up(price, rate.price, amount::PLACES);
        Ok((value.map_err(|_| Refusal::Amount)?, Fiat::Usd))
    }
}

impl Gateway {
    /// Creates the invoice that a `create_transaction` asks for. It has no idempotency key: the
    /// dialect has none.
    pub async fn create_legacy_transaction(
        &self,
        caller: &Caller,
        new: &NewTransaction,
    ) -> Result<Transaction, LegacyError> {
        let market = self.market().await?;
        let priced_in = PricedIn::named(&new.currency1);
        let priced_in = priced_in.ok_or(Refusal::Currency("currency1"))?;
        let currency = Catalogue::get().by_legacy_code(&new.currency2);
        let currency = currency.ok_or(Refusal::Currency("currency2"))?;
        let offer = offered(&market, caller, currency)?;
        let confirmations_needed = self.config.chain(offer.currency.network).confirmations;
        let request = invoice_of(&market, priced_in, offer, new)?;
        let quoted = quote_request(&market, caller, &request)?;
        let fields = new.terms.fields.clone();
        let order = Order::new(IpnType::Api, priced_in.code(), new.amount, fields);

        let mut tx = self.db.begin().await?;
        if !merchants::lock_for_creation(&mut tx, caller.merchant_id).await? {
            return Err(Refusal::Suspended.into());
        }
        let (invoice, _) = self.insert_invoice(&mut tx, caller, &request, quoted).await?;
        legacy_payments::insert(&mut tx, invoice.id, caller.merchant_id, &order).await?;
        tx.commit().await.map_err(StorageError::from)?;
        count_transition(None, invoice.view.status);
        self.relay_wake.notify_one();
        Ok(Transaction { invoice, order, confirmations_needed })
    }
}

/// The offer of a currency, if it is on sale and the merchant accepts it.
pub(super) fn offered<'a>(
    market: &'a Market,
    caller: &Caller,
    currency: &Currency,
) -> Result<&'a Offer, LegacyError> {
    let token_id = currency.token_id();
    if caller.accepted_tokens.as_ref().is_some_and(|accepted| !accepted.contains(&token_id)) {
        return Err(Refusal::NotAccepted.into());
    }
    match market.offer(&token_id) {
        Some(offer) => Ok(offer),
        None if market.offer_unaddressed(&token_id).is_some() => Err(Refusal::NoAddress.into()),
        None => Err(Refusal::NotAccepted.into()),
    }
}

fn invoice_of(
    market: &Market,
    priced_in: PricedIn,
    offer: &Offer,
    new: &NewTransaction,
) -> Result<NewInvoice, LegacyError> {
    let currency = offer.currency;
    let direct = matches!(priced_in, PricedIn::Coin(coin) if std::ptr::eq(coin, currency));
    let (price_amount, price_currency, pricing) = if direct {
        let price = price_rounded_up(new.amount, u32::from(currency.decimals));
        (price, currency.symbol.to_ascii_lowercase(), Pricing::Direct)
    } else {
        let (price, fiat) = priced_in.in_fiat(market, new.amount)?;
        (price, fiat.code().to_owned(), Pricing::Fiat)
    };
    let pay = PayWith::Named {
        pay_currency: currency.symbol.to_ascii_lowercase(),
        network: Some(currency.network.name().to_owned()),
    };
    Ok(new.terms.invoice(price_amount, price_currency, pay, pricing))
}

impl Terms {
    pub(super) fn invoice(
        &self,
        price_amount: Price,
        price_currency: String,
        pay: PayWith,
        pricing: Pricing,
    ) -> NewInvoice {
        NewInvoice {
            price_amount,
            price_currency,
            pay,
            pricing,
            order_id: self.order_id.clone(),
            order_description: self.order_description.clone(),
            ipn_callback_url: self.ipn_callback_url.clone(),
            success_url: self.success_url.clone(),
            cancel_url: self.cancel_url.clone(),
            idempotency: None,
        }
    }
}
