//! Creating an invoice, or a draft whose buyer picks the currency (spec, "POST /v1/payment").

use rust_decimal::Decimal;
use uuid::Uuid;

use crate::app::{
    Gateway,
    address::give::NoAddress,
    delivery::emit,
    market::{Market, NoFreshRate, Offer},
    operator::measure::count_transition,
};
use crate::{
    asset::{Family, fiat::Fiat},
    broker::{
        envelope::{self, InvoiceRef},
        route::Route,
    },
    fail_point::fail_point,
    invoice::{
        InvoiceType, PaymentId, Pricing, Status,
        payment::{Payment, PaymentAsset, PaymentView},
        quote::{self, QuoteError},
    },
    merchant::settings::{DefaultUrls, Underpay, WINDOW_SECONDS_MAX},
    money::{AmountError, BaseUnits, Bps, Price},
    storage::{
        PgConnection, StorageError,
        access::Caller,
        creation::{self, Opening},
        idempotency,
        invoices::{Invoice, UsedRate},
        merchants,
    },
};

/// A validated request.
#[derive(Debug, Clone)]
pub struct NewInvoice {
    pub price_amount: Price,
    /// As sent, in lower case.
    pub price_currency: String,
    pub pay: PayWith,
    pub pricing: Pricing,
    pub order_id: Option<String>,
    pub order_description: Option<String>,
    pub ipn_callback_url: Option<String>,
    pub success_url: Option<String>,
    pub cancel_url: Option<String>,
    pub idempotency: Option<Idempotency>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PayWith {
    /// `all`: the buyer picks.
    BuyersChoice,
    Named {
        pay_currency: String,
        network: Option<String>,
    },
}

/// A repeat of the same request under the same key gets the same answer for 24 hours.
#[derive(Debug, Clone)]
pub struct Idempotency {
    pub key: String,
    /// Of the parsed values, so that spelling does not matter.
    pub request_sha256: [u8; 32],
}

/// The answer's body, byte for byte, and whether it was given before.
#[derive(Debug)]
pub struct Created {
    pub body: String,
    pub replayed: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    #[error("price_currency is not a supported fiat currency")]
    UnsupportedFiat,
    #[error("direct pricing needs a concrete pay_currency")]
    DirectWithoutCurrency,
    #[error("with direct pricing, price_currency must be identical to the pay currency's symbol")]
    DirectInOtherCurrency,
    #[error("price_amount {0}")]
    DirectAmount(AmountError),
    #[error("pay_currency is not supported")]
    CurrencyNotSupported,
    #[error("the value is below the minimum of {min_usd} USD")]
    BelowMinimum { min_usd: Decimal },
    #[error("no accepted currency is eligible for this amount")]
    NoEligibleCurrency,
    #[error("the maximum number of open invoices is reached")]
    QuotaExceeded,
    #[error("the merchant is suspended")]
    Suspended,
    #[error("the Idempotency-Key was used with another request")]
    IdempotencyMismatch,
    #[error(transparent)]
    NoFreshRate(#[from] NoFreshRate),
    #[error(transparent)]
    Quote(#[from] QuoteError),
    #[error(transparent)]
    NoAddress(NoAddress),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<NoAddress> for CreateError {
    fn from(error: NoAddress) -> Self {
        match error {
            NoAddress::Storage(error) => Self::Storage(error),
            NoAddress::NoKey { .. }
            | NoAddress::PoolEmpty { .. }
            | NoAddress::NotDerivable { .. } => Self::NoAddress(error),
        }
    }
}

/// The price of the new invoice, or its choice of currencies, as known before the transaction.
pub(crate) enum Quoted {
    Draft { accepted: Vec<String> },
    Payable { offer: Offer, pay_amount: BaseUnits, rate: Option<UsedRate> },
}

impl Quoted {
    /// Of the address it needs; `None` for a draft.
    fn family(&self) -> Option<Family> {
        match self {
            Self::Draft { .. } => None,
            Self::Payable { offer, .. } => Some(offer.currency.family()),
        }
    }
}

impl Gateway {
    /// Creates the invoice that `request` asks for, or repeats the answer given to it before.
    ///
    /// One transaction holds the merchant's row: creations of one merchant queue up, so the quota
    /// and the idempotency key are exact. The answer is rendered inside it and stored with the
    /// invoice.
    pub async fn create_invoice(
        &self,
        caller: &Caller,
        request: &NewInvoice,
    ) -> Result<Created, CreateError> {
        let merchant_id = caller.merchant_id;
        if let Some(wanted) = &request.idempotency {
            let mut connection = self.db.connection().await?;
            if let Some(replay) = replay(&mut connection, merchant_id, wanted).await? {
                return Ok(replay);
            }
        }
        let market = self.market().await?;
        let quoted = quote_request(&market, caller, request)?;

        let mut tx = self.db.begin().await?;
        if !merchants::lock_for_creation(&mut tx, merchant_id).await? {
            return Err(CreateError::Suspended);
        }
        if let Some(wanted) = &request.idempotency
            && let Some(replay) = replay(&mut tx, merchant_id, wanted).await?
        {
            return Ok(replay);
        }
        let (invoice, body) = self.insert_invoice(&mut tx, caller, request, quoted).await?;
        if let Some(wanted) = &request.idempotency {
            let sha256 = &wanted.request_sha256;
            let kept =
                idempotency::insert(&mut tx, merchant_id, &wanted.key, sha256, &body).await?;
            if !kept {
                let what = "an answer appeared under the merchant's lock";
                return Err(StorageError::damaged("idempotency", what).into());
            }
        }
        fail_point("create.written");
        tx.commit().await.map_err(StorageError::from)?;
        fail_point("create.committed");
        count_transition(None, invoice.view.status);
        self.relay_wake.notify_one();
        Ok(Created { body, replayed: false })
    }

    /// Returns it and the body of the answer, which is also what its event says. The caller holds
    /// the lock of the merchant's row.
    pub(crate) async fn insert_invoice(
        &self,
        tx: &mut PgConnection,
        caller: &Caller,
        request: &NewInvoice,
        quoted: Quoted,
    ) -> Result<(Invoice, String), CreateError> {
        let quota = i64::from(caller.open_invoices_max);
        let family = quoted.family();
        let derived = family.filter(|family| !family.has_pool());
        let facts = creation::facts(tx, caller.merchant_id, quota, derived).await?;
        if facts.open >= quota {
            return Err(CreateError::QuotaExceeded);
        }
        let mut invoice = blank_invoice(caller.into(), request, facts.now);
        let address = match quoted {
            Quoted::Draft { accepted } => {
                invoice.accepted_tokens = Some(accepted);
                None
            }
            Quoted::Payable { offer, pay_amount, rate } => {
                let family = offer.currency.family();
                let address = match facts.index {
                    Some(index) => self.address_at(family, index)?,
                    None => self.give_address(tx, family).await?,
                };
                invoice.make_payable(&offer, pay_amount, rate, address.address.clone());
                Some(address)
            }
        };
        let message = envelope::encode(&InvoiceRef { invoice_id: invoice.id });
        let payment = Payment::render(&invoice.view, &self.config.checkout_url);
        let body = serde_json::to_string(&payment).expect("a payment object is plain data");
        let event_id = emit::new_id();
        let opening = Opening {
            invoice: &invoice,
            event: (&event_id, &body),
            address: address.as_ref(),
            route: Route::InvoiceCreated.as_str(),
            message: &message,
        };
        creation::open(tx, &opening).await?;
        Ok((invoice, body))
    }
}

async fn replay(
    connection: &mut PgConnection,
    merchant_id: Uuid,
    wanted: &Idempotency,
) -> Result<Option<Created>, CreateError> {
    match idempotency::find(connection, merchant_id, &wanted.key).await? {
        None => Ok(None),
        Some(stored) if stored.request_sha256 == wanted.request_sha256 => {
            Ok(Some(Created { body: stored.response, replayed: true }))
        }
        Some(_) => Err(CreateError::IdempotencyMismatch),
    }
}

pub(crate) fn quote_request(
    market: &Market,
    caller: &Caller,
    request: &NewInvoice,
) -> Result<Quoted, CreateError> {
    match (&request.pay, request.pricing) {
        (PayWith::BuyersChoice, Pricing::Direct) => Err(CreateError::DirectWithoutCurrency),
        (PayWith::BuyersChoice, Pricing::Fiat) => {
            let fiat = fiat_of(request)?;
            let accepted = caller.accepted_tokens.as_deref();
            let accepted = eligible(market, &[accepted], request.price_amount, fiat)?;
            Ok(Quoted::Draft { accepted })
        }
        (PayWith::Named { pay_currency, network }, pricing) => {
            let network = network.as_deref();
            let Some(offer) = market.resolve(pay_currency, network).cloned() else {
                let unaddressed = market.resolve_unaddressed(pay_currency, network);
                return Err(unaddressed.map_or(CreateError::CurrencyNotSupported, no_address));
            };
            match pricing {
                Pricing::Fiat => {
                    let fiat = fiat_of(request)?;
                    quote_fiat(market, offer, request.price_amount, fiat)
                }
                Pricing::Direct => quote_direct(market, offer, request),
            }
        }
    }
}

fn fiat_of(request: &NewInvoice) -> Result<Fiat, CreateError> {
    request.price_currency.parse().map_err(|_| CreateError::UnsupportedFiat)
}

fn quote_fiat(
    market: &Market,
    offer: Offer,
    price: Price,
    fiat: Fiat,
) -> Result<Quoted, CreateError> {
    let symbol = offer.currency.symbol;
    let rate = market.fresh_rate(symbol, fiat)?;
    let usd = market.fresh_rate(symbol, Fiat::Usd)?;
    if !quote::meets_minimum(price, rate.price, usd.price, offer.min_usd)? {
        return Err(CreateError::BelowMinimum { min_usd: offer.min_usd });
    }
    let pay_amount = quote::pay_amount(price, rate.price, offer.currency.decimals)?;
    let (source, observed_at) = (rate.source.clone(), rate.observed_at);
    let rate = Some(UsedRate { price: rate.price, source, observed_at });
    Ok(Quoted::Payable { offer, pay_amount, rate })
}

fn quote_direct(
    market: &Market,
    offer: Offer,
    request: &NewInvoice,
) -> Result<Quoted, CreateError> {
    let currency = offer.currency;
    if !request.price_currency.eq_ignore_ascii_case(currency.symbol) {
        return Err(CreateError::DirectInOtherCurrency);
    }
    let pay_amount = quote::direct_amount(request.price_amount, currency.decimals)
        .map_err(CreateError::DirectAmount)?;
    let usd = market.fresh_rate(currency.symbol, Fiat::Usd)?;
    if !quote::amount_meets_minimum(pay_amount, currency.decimals, usd.price, offer.min_usd)? {
        return Err(CreateError::BelowMinimum { min_usd: offer.min_usd });
    }
    Ok(Quoted::Payable { offer, pay_amount, rate: None })
}

/// The refusal of a currency that is on sale but for its missing addresses: a fault of ours that
/// may pass, never the merchant's mistake.
pub(crate) fn no_address(offer: &Offer) -> CreateError {
    CreateError::NoAddress(NoAddress::of(offer.currency.family()))
}

/// The tokens a draft may be paid in: accepted by every list, enabled, and the price at or above
/// the minimum. One that has no fresh rate now is kept: its minimum is checked when the buyer
/// chooses it, and until then it shows as not available.
///
/// Without any that can be chosen now there is no draft. The merchant is at fault only if all of
/// them were judged.
pub(crate) fn eligible(
    market: &Market,
    lists: &[Option<&[String]>],
    price: Price,
    fiat: Fiat,
) -> Result<Vec<String>, CreateError> {
    let is_accepted = |offer: &&Offer| {
        let token_id = offer.currency.token_id();
        lists.iter().all(|list| list.is_none_or(|tokens| tokens.contains(&token_id)))
    };
    let mut tokens = Vec::new();
    let (mut any_eligible, mut any_unpriced) = (false, false);
    for offer in market.offers().iter().filter(is_accepted) {
        let symbol = offer.currency.symbol;
        let rates = (market.fresh_rate(symbol, fiat), market.fresh_rate(symbol, Fiat::Usd));
        let keep = if let (Ok(rate), Ok(usd)) = rates {
            let eligible = quote::meets_minimum(price, rate.price, usd.price, offer.min_usd)?;
            any_eligible |= eligible;
            eligible
        } else {
            any_unpriced = true;
            true
        };
        if keep {
            tokens.push(offer.currency.token_id());
        }
    }
    if any_eligible {
        Ok(tokens)
    } else if any_unpriced {
        Err(NoFreshRate.into())
    } else {
        let unaddressed = market.unaddressed().iter().find(is_accepted);
        Err(unaddressed.map_or(CreateError::NoEligibleCurrency, no_address))
    }
}

/// Settings of a merchant that a new invoice takes over, by whatever way it is created.
#[derive(Debug, Clone)]
pub(crate) struct Inherited {
    pub merchant_id: Uuid,
    pub overpay_tolerance: Bps,
    pub payment_window_seconds: i32,
    pub selection_window_seconds: i32,
    pub default_urls: DefaultUrls,
}

impl From<&Caller> for Inherited {
    fn from(caller: &Caller) -> Self {
        Self {
            merchant_id: caller.merchant_id,
            overpay_tolerance: caller.overpay_tolerance,
            payment_window_seconds: caller.payment_window_seconds,
            selection_window_seconds: caller.selection_window_seconds,
            default_urls: caller.default_urls.clone(),
        }
    }
}

/// An invoice with everything but the currency, address and amount of its payment. What the request
/// leaves out is the merchant's default.
pub(crate) fn blank_invoice(
    caller: Inherited,
    request: &NewInvoice,
    now: chrono::DateTime<chrono::Utc>,
) -> Invoice {
    let draft = request.pay == PayWith::BuyersChoice;
    let window =
        if draft { caller.selection_window_seconds } else { caller.payment_window_seconds };
    let window = window.min(WINDOW_SECONDS_MAX);
    let defaults = caller.default_urls;
    let view = PaymentView {
        payment_id: PaymentId::generate().to_string(),
        status: Status::Draft,
        price_amount: request.price_amount,
        price_currency: request.price_currency.clone(),
        asset: None,
        actually_paid: BaseUnits::ZERO,
        order_id: request.order_id.clone(),
        order_description: request.order_description.clone(),
        ipn_callback_url: request.ipn_callback_url.clone().or(defaults.ipn_callback),
        invoice_type: InvoiceType::Payment,
        window_seconds: window.unsigned_abs(),
        deadline: now + chrono::TimeDelta::seconds(i64::from(window)),
        created_at: now,
        updated_at: now,
        subscription: None,
    };
    Invoice {
        id: Uuid::now_v7(),
        merchant_id: caller.merchant_id,
        view,
        pricing_mode: request.pricing,
        token_id: None,
        credited: BaseUnits::ZERO,
        overpay_tolerance: caller.overpay_tolerance,
        underpay: Underpay::NONE,
        success_url: request.success_url.clone().or(defaults.success),
        cancel_url: request.cancel_url.clone().or(defaults.cancel),
        accepted_tokens: None,
        payment_window_seconds: caller.payment_window_seconds.min(WINDOW_SECONDS_MAX),
        rate: None,
        rate_source: None,
        rate_at: None,
        link_id: None,
        donation: None,
        subscription_id: None,
    }
}

impl Invoice {
    /// Fills in the currency, address and amount to be paid; from here on it is `pending`.
    pub(crate) fn make_payable(
        &mut self,
        offer: &Offer,
        pay_amount: BaseUnits,
        rate: Option<UsedRate>,
        pay_address: String,
    ) {
        let currency = offer.currency;
        self.view.status = Status::Pending;
        self.view.asset = Some(PaymentAsset {
            pay_address,
            pay_amount,
            code: currency.code.to_owned(),
            network: currency.network,
            decimals: currency.decimals,
            contract: currency.contract.map(ToOwned::to_owned),
        });
        self.token_id = Some(currency.token_id());
        if let Some(rate) = rate {
            self.rate = Some(rate.price);
            self.rate_source = Some(rate.source);
            self.rate_at = Some(rate.observed_at);
        }
    }
}
