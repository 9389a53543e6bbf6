//! A visitor of a link creates an invoice. He has no API key, so nothing but the link says which
//! merchant it is for, at which price and with which addresses.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use rust_decimal::Decimal;
use tracing::Instrument;
use uuid::Uuid;

use super::{
    once::{self, Earlier},
    subscribe::{of_subscription, subscribed},
    visit::LinkState,
};
use crate::app::{
    Gateway,
    delivery::emit,
    invoice::create::{CreateError, Inherited, NewInvoice, PayWith, blank_invoice, eligible},
    keyed_limiter::{KeyedLimiter, KeyedPermit},
    market::Market,
    operator::measure::count_transition,
};
use crate::{
    broker::{
        envelope::{self, InvoiceRef},
        route::Route,
    },
    invoice::{Pricing, payment::Payment},
    link::{
        self, LinkKind,
        terms::{AmountRefusal, Terms},
        words::{self, WordsError},
    },
    mail::Language,
    merchant::settings::DefaultUrls,
    money::{Bps, Price},
    storage::{
        PgConnection, StorageError, access,
        creation::{self, Opening},
        invoices::{self, Invoice},
        links::{self, Link},
        merchants::{self, MerchantRow},
    },
    telemetry::trace::{Kind, Span},
    webhook::{donation::DonationBody, ipn},
};

/// Concurrent orders per link; the others wait, at most as long as their request may take. More of
/// them would wait for the row lock of the link, each with a database connection that all other
/// requests need.
const TOGETHER: usize = 2;

/// Orders in progress, by the id of their link.
#[derive(Default)]
pub(crate) struct Orders(KeyedLimiter<Uuid>);

impl Orders {
    /// Waits for a turn on the link of this row id.
    pub(in crate::app) async fn turn(&self, link: Uuid) -> KeyedPermit<Uuid> {
        self.0.take(link, TOGETHER).await
    }
}

/// The form of a link's page, as a visitor sent it.
#[derive(Debug, Clone, Default)]
pub struct OrderForm {
    pub amount: String,
    pub donor_name: String,
    pub donor_email: String,
    pub message: String,
    pub anonymous: bool,
    /// The subscriber's address.
    pub email: String,
    /// The language of the page, in which mails are written.
    pub language: Language,
    /// Names the form: sent twice with the same values, it makes one draft. Empty if it has none.
    pub once: String,
}

impl OrderForm {
    /// The values by which a form is known again. An anonymous donor's name and address are stored
    /// nowhere, not even in a hash that could be guessed.
    fn values(&self) -> [&str; 6] {
        let named = |text| if self.anonymous { "" } else { text };
        [
            self.amount.as_str(),
            named(self.donor_name.as_str()),
            named(self.donor_email.as_str()),
            self.message.as_str(),
            if self.anonymous { "anonymous" } else { "" },
            self.email.as_str(),
        ]
    }
}

/// Reason why a visitor gets no invoice.
#[derive(Debug, thiserror::Error)]
pub enum OrderError {
    #[error("there is no such link")]
    NotFound,
    #[error("the link takes no payments")]
    Unusable(LinkState),
    #[error("this address has tried too often")]
    TooManyTries,
    #[error("the link has as many open invoices as it may have")]
    Full,
    #[error(transparent)]
    Amount(#[from] AmountRefusal),
    #[error(transparent)]
    Words(#[from] WordsError),
    /// The smallest minimum of all its currencies, in USD.
    #[error("no currency takes this amount")]
    TooSmall { min_usd: Option<Decimal> },
    #[error("all payments of this subscription were made")]
    AllPaid,
    #[error(transparent)]
    Create(CreateError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Gateway {
    /// Creates the draft that a visitor asks for, or finds the open invoice of a single-use link.
    /// Returns its `payment_id`. It has no address: a visitor who never chooses a currency costs
    /// none.
    pub async fn order_by_link(
        self: &Arc<Self>,
        link_id: &str,
        client: &str,
        form: &OrderForm,
    ) -> Result<String, OrderError> {
        let link = self.admit_visitor(link_id, client).await?;
        let turn = self.orders.turn(link).await;
        let (gateway, link_id, form) = (self.clone(), link_id.to_owned(), form.clone());
        let span = Span::begin("order by link", Kind::Internal, None);
        let ordering = async move {
            let ordered = span.scope(gateway.order_in_turn(&link_id, &form)).await;
            span.end(Vec::new());
            ordered
        };
        let ordered = turn.during(ordering.in_current_span()).await;
        ordered.unwrap_or(Err(OrderError::Storage(StorageError::TimedOut)))
    }

    async fn order_in_turn(&self, link_id: &str, form: &OrderForm) -> Result<String, OrderError> {
        let market = self.market().await?;
        let mut tx = self.db.begin().await?;
        let link = links::lock(&mut tx, link_id).await?.ok_or(OrderError::NotFound)?;
        if link.terms.kind == LinkKind::Pos {
            return Err(OrderError::NotFound);
        }
        let merchant = merchants::by_id(&mut tx, link.merchant_id).await?;
        let merchant = merchant.filter(|merchant| link.active && merchant.suspended_at.is_none());
        let merchant = merchant.ok_or(OrderError::Unusable(LinkState::Inactive))?;
        if let Some(open) = occupied(&mut tx, &link).await? {
            return Ok(open);
        }
        let once = match once::earlier(&mut tx, &link, &form.once, &form.values()).await? {
            Earlier::Same(payment_id) => return Ok(payment_id),
            Earlier::New(once) => once,
        };
        let price = link.terms.amount(&form.amount)?;
        let donation = donation(&link, form)?;
        let accepted = merchant.accepted_tokens.as_deref();
        let accepted = accepted_for(&market, &link.terms, accepted, price)?;
        let quota = i64::from(merchant.open_invoices_max);
        let (open, now) = links::open_invoices(&mut tx, &link, quota).await?;
        if open >= quota {
            return Err(OrderError::Full);
        }
        let mut invoice = match link.terms.kind {
            LinkKind::Payment | LinkKind::Donation | LinkKind::Pos => {
                of_link(inherited(&merchant), &link, price, now)
            }
            LinkKind::Subscription => {
                let subscription = subscribed(&mut tx, &link, form, now).await?;
                of_subscription(inherited(&merchant), &link, &subscription, now)
            }
        };
        invoice.accepted_tokens = Some(accepted);
        invoice.donation = donation;
        let has_address =
            invoice.donation.as_ref().is_some_and(|donation| donation.donor_email.is_some());
        self.open_draft(&mut tx, &invoice).await?;
        if has_address {
            invoices::set_language(&mut tx, invoice.id, form.language).await?;
        }
        if let Some(once) = once {
            once.keep(&mut tx, &link, &invoice.view.payment_id).await?;
        }
        tx.commit().await.map_err(StorageError::from)?;
        count_transition(None, invoice.view.status);
        self.relay_wake.notify_one();
        Ok(invoice.view.payment_id)
    }

    /// Counts a try against the budget of this address on this link, and returns the link's row id.
    /// Texts that name no link have none.
    async fn admit_visitor(&self, link_id: &str, client: &str) -> Result<Uuid, OrderError> {
        if !link::is_id(link_id) {
            return Err(OrderError::NotFound);
        }
        let mut connection = self.db.connection().await?;
        let link = links::by_link_id(&mut connection, link_id).await?;
        let link = link.ok_or(OrderError::NotFound)?;
        let admitted = access::admit_visitor(&mut connection, link_id, client).await?;
        if admitted { Ok(link.id) } else { Err(OrderError::TooManyTries) }
    }

    /// Writes a draft that a visitor created, with its event and its message.
    pub(crate) async fn open_draft(
        &self,
        tx: &mut PgConnection,
        invoice: &Invoice,
    ) -> Result<(), StorageError> {
        let message = envelope::encode(&InvoiceRef { invoice_id: invoice.id });
        let payment = Payment::render(&invoice.view, &self.config.checkout_url);
        let body = ipn::snapshot(&payment, None, invoice.donation.as_ref(), None);
        let opening = Opening {
            invoice,
            event: (&emit::new_id(), &body),
            address: None,
            route: Route::InvoiceCreated.as_str(),
            message: &message,
        };
        creation::open(tx, &opening).await
    }
}

/// Of the default addresses the webhooks' alone: a link has pages of its own to lead back to.
pub(crate) fn inherited(merchant: &MerchantRow) -> Inherited {
    Inherited {
        merchant_id: merchant.id,
        overpay_tolerance: Bps::new(merchant.overpay_bps.unsigned_abs()),
        payment_window_seconds: merchant.payment_window_seconds,
        selection_window_seconds: merchant.selection_window_seconds,
        default_urls: DefaultUrls {
            ipn_callback: merchant.default_ipn_callback_url.clone(),
            ..DefaultUrls::default()
        },
    }
}

/// A draft of a link, at the price that its visitor pays.
pub(crate) fn of_link(
    inherited: Inherited,
    link: &Link,
    price: Price,
    now: DateTime<Utc>,
) -> Invoice {
    let mut invoice = blank_invoice(inherited, &request(&link.terms, price), now);
    invoice.view.invoice_type = link.terms.kind.invoice_type();
    invoice.link_id = Some(link.id);
    invoice
}

/// The open invoice of a single-use link, which all its visitors share. The caller holds the lock
/// of the link.
async fn occupied(tx: &mut PgConnection, link: &Link) -> Result<Option<String>, OrderError> {
    if !link.terms.single_use {
        return Ok(None);
    }
    match links::occupant(tx, link.id).await? {
        None => Ok(None),
        Some((_, status)) if status.is_terminal() => Err(OrderError::Unusable(LinkState::Used)),
        Some((payment_id, _)) => Ok(Some(payment_id)),
    }
}

/// A donor's words. Of an anonymous one neither name nor address is kept.
fn donation(link: &Link, form: &OrderForm) -> Result<Option<DonationBody>, WordsError> {
    if link.terms.kind != LinkKind::Donation {
        return Ok(None);
    }
    let (name, email) = (words::name(&form.donor_name)?, words::email(&form.donor_email)?);
    let message = words::message(&form.message)?;
    let anonymous = form.anonymous;
    let proposed = link.terms.price_amount;
    Ok(Some(DonationBody {
        link_id: link.link_id.clone(),
        donor_name: name.filter(|_| !anonymous),
        donor_email: email.filter(|_| !anonymous),
        message,
        anonymous,
        suggested_amount: proposed.map(Price::to_decimal),
        suggested_currency: proposed.map(|_| link.terms.price_currency.code().to_owned()),
    }))
}

/// The tokens that the merchant and the link both accept and this price leaves.
pub(crate) fn accepted_for(
    market: &Market,
    terms: &Terms,
    of_merchant: Option<&[String]>,
    price: Price,
) -> Result<Vec<String>, OrderError> {
    let lists = [of_merchant, terms.accepted.as_deref()];
    let found = eligible(market, &lists, price, terms.price_currency);
    found.map_err(|error| {
        if !matches!(error, CreateError::NoEligibleCurrency) {
            return OrderError::Create(error);
        }
        let accepts = |token: &String| {
            lists.iter().all(|list| list.is_none_or(|tokens| tokens.contains(token)))
        };
        let offers = market.offers().iter();
        let offers = offers.filter(|offer| accepts(&offer.currency.token_id()));
        OrderError::TooSmall { min_usd: offers.map(|offer| offer.min_usd).min() }
    })
}

/// The draft, with nothing of the visitor in it but the price of an open link.
fn request(terms: &Terms, price: Price) -> NewInvoice {
    NewInvoice {
        price_amount: price,
        price_currency: terms.price_currency.code().to_owned(),
        pay: PayWith::BuyersChoice,
        pricing: Pricing::Fiat,
        order_id: terms.order_id.clone(),
        order_description: Some(terms.title.clone()),
        ipn_callback_url: terms.ipn_callback_url.clone(),
        success_url: terms.success_url.clone(),
        cancel_url: terms.cancel_url.clone(),
        idempotency: None,
    }
}
