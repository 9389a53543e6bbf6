//! The buyer of a draft picks a currency; the draft becomes a normal invoice with the same id.
//! While nothing was seen, the buyer may pick another one.

use chrono::{DateTime, Utc};

use super::{
    carry_out::interpret,
    create::{CreateError, no_address},
};
use crate::app::{
    Gateway,
    market::{
        Market, Offer,
        quote::{AskError, price_in},
    },
    operator::measure::count_transition,
};
use crate::{
    asset::{Family, fiat::Fiat},
    broker::{
        envelope::{self, InvoiceRef},
        route::Route,
    },
    deposit::State,
    invoice::{
        lifecycle::{self, Event, Refusal},
        quote,
    },
    money::BaseUnits,
    storage::{
        PgConnection, StorageError, addresses, deposits,
        invoices::{self, Invoice, UsedRate},
        links, outbox, timers, x402,
    },
};

/// Addresses of one pool that unpaid invoices of a link may take in a day. All merchants share a
/// pool, and a visitor's invoice costs nothing: without a limit he could empty it.
const UNPAID_OF_POOL_MAX: i64 = 100;
/// Addresses that one invoice may have: each change of its currency takes one, and costs nothing.
const ADDRESSES_MAX: i64 = 5;

#[derive(Debug, thiserror::Error)]
pub enum SelectError {
    #[error("no such invoice")]
    NotFound,
    #[error("this currency cannot be chosen for this invoice")]
    NotOffered,
    #[error("the currency was changed too often")]
    ChangedTooOften,
    #[error("the choice was refused: {0:?}")]
    Refused(Refusal),
    #[error(transparent)]
    Create(#[from] CreateError),
}

impl From<StorageError> for SelectError {
    fn from(error: StorageError) -> Self {
        Self::Create(error.into())
    }
}

impl From<AskError> for SelectError {
    fn from(error: AskError) -> Self {
        match error {
            AskError::CurrencyNotSupported => Self::NotOffered,
            AskError::NoFreshRate(error) => Self::Create(error.into()),
            AskError::Quote(error) => Self::Create(error.into()),
            AskError::Storage(error) => error.into(),
        }
    }
}

impl Gateway {
    /// Resolves a draft. Two choices at once give one: the second finds no draft any more.
    pub async fn select_currency(
        &self,
        payment_id: &str,
        token_id: &str,
    ) -> Result<(), SelectError> {
        self.choose(payment_id, None, token_id).await
    }

    /// Takes another currency for an invoice that was a draft, instead of `before`, while nothing
    /// was seen. Its time to pay stays as it is; its address is another one, and those that it had
    /// are still watched.
    pub async fn change_currency(
        &self,
        payment_id: &str,
        before: &str,
        token_id: &str,
    ) -> Result<(), SelectError> {
        if before == token_id {
            Ok(())
        } else {
            self.choose(payment_id, Some(before), token_id).await
        }
    }

    async fn choose(
        &self,
        payment_id: &str,
        before: Option<&str>,
        token_id: &str,
    ) -> Result<(), SelectError> {
        let market = self.market().await?;
        let Some(offer) = market.offer(token_id) else {
            let unaddressed = market.offer_unaddressed(token_id);
            return Err(unaddressed.map_or(SelectError::NotOffered, |it| no_address(it).into()));
        };

        let mut tx = self.db.begin().await?;
        let found = invoices::by_payment_id(&mut tx, payment_id).await?;
        let id = found.ok_or(SelectError::NotFound)?.id;
        let mut invoice = invoices::lock(&mut tx, id).await?.ok_or(SelectError::NotFound)?;
        let now = crate::storage::now(&mut tx).await?;
        let was = invoice.view.status;
        let event = event(&mut tx, &invoice, before, now).await?;
        let step = lifecycle::step(&invoice.for_lifecycle(), event);
        // Its status is stored with the currency, the address and the amount.
        let outcome = interpret(&mut invoice, &step);
        if let Some(refusal) = outcome.refusal() {
            return Err(SelectError::Refused(refusal));
        }
        let listed = invoice
            .accepted_tokens
            .as_ref()
            .is_some_and(|tokens| tokens.iter().any(|token| token == token_id));
        if !listed {
            return Err(SelectError::NotOffered);
        }
        let (pay_amount, used) = priced(&market, offer, &invoice)?;
        if is_pool_spent(&mut tx, &invoice, offer.currency.family()).await? {
            return Err(SelectError::NotOffered);
        }
        let given = self.give_address(&mut tx, offer.currency.family()).await;
        let address = given.map_err(CreateError::from)?;
        invoice.make_payable(offer, pay_amount, Some(used), address.address.clone());
        if before.is_none() {
            // The payment window starts now (spec, "Unresolved draft").
            let window = invoice.payment_window_seconds;
            invoice.view.window_seconds = window.unsigned_abs();
            invoice.view.deadline = now + chrono::TimeDelta::seconds(i64::from(window));
        }
        invoices::resolve(&mut tx, &invoice).await?;
        addresses::insert(&mut tx, &address, offer.currency.network.name(), id).await?;
        timers::set(&mut tx, timers::INVOICE_DEADLINE, id, invoice.view.deadline).await?;
        let body = envelope::encode(&InvoiceRef { invoice_id: id });
        outbox::insert(&mut tx, Route::InvoiceResolved.as_str(), &body).await?;
        tx.commit().await.map_err(StorageError::from)?;
        count_transition(Some(was), invoice.view.status);
        self.relay_wake.notify_one();
        Ok(())
    }
}

/// The event that the choice is for the invoice: the first one, or another one instead of `before`.
async fn event(
    tx: &mut PgConnection,
    invoice: &Invoice,
    before: Option<&str>,
    now: DateTime<Utc>,
) -> Result<Event, SelectError> {
    let Some(before) = before else { return Ok(Event::CurrencyPicked { now }) };
    // Somebody else changed it meanwhile.
    if invoice.token_id.as_deref() != Some(before) {
        return Err(SelectError::Refused(Refusal::NotADraft));
    }
    if addresses::count_of_invoice(tx, invoice.id).await? >= ADDRESSES_MAX {
        return Err(SelectError::ChangedTooOften);
    }
    let known = deposits::of_invoice(tx, invoice.id).await?;
    let seen = known.iter().any(|deposit| deposit.state != State::Withdrawn)
        || x402::is_paying(tx, invoice.id).await?;
    Ok(Event::CurrencyChanged { now, seen })
}

/// The amount to pay in the currency of `offer`, and the rate by which it was priced.
fn priced(
    market: &Market,
    offer: &Offer,
    invoice: &Invoice,
) -> Result<(BaseUnits, UsedRate), SelectError> {
    let fiat: Fiat =
        invoice.view.price_currency.parse().map_err(|_| CreateError::UnsupportedFiat)?;
    let price = invoice.view.price_amount;
    let pay_amount = price_in(market, offer, price, fiat)?;
    let symbol = offer.currency.symbol;
    let rate = market.fresh_rate(symbol, fiat).map_err(CreateError::from)?;
    let usd = market.fresh_rate(symbol, Fiat::Usd).map_err(CreateError::from)?;
    let met = quote::meets_minimum(price, rate.price, usd.price, offer.min_usd);
    if !met.map_err(CreateError::from)? {
        return Err(CreateError::BelowMinimum { min_usd: offer.min_usd }.into());
    }
    let used =
        UsedRate { price: rate.price, source: rate.source.clone(), observed_at: rate.observed_at };
    Ok((pay_amount, used))
}

/// True if the invoice's link has taken as many addresses of a pool as it may.
async fn is_pool_spent(
    tx: &mut PgConnection,
    invoice: &Invoice,
    family: Family,
) -> Result<bool, StorageError> {
    let Some(link) = invoice.link_id.filter(|_| family.has_pool()) else { return Ok(false) };
    let taken = links::unpaid_addresses(tx, link, family, UNPAID_OF_POOL_MAX).await?;
    Ok(taken >= UNPAID_OF_POOL_MAX)
}
