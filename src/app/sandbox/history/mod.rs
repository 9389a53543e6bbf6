//! A month of believable history for a merchant of the sandbox, so that pages show something.
//!
//! Nothing is invented beside the rules: prices are quoted by `invoice::quote`, statuses, bookings
//! and events are those that `invoice::lifecycle` decides, addresses are derived as always, and
//! each deposit stands in a block of the simulated chain, so that the books, the chain and the
//! balances agree. Only the times are of the past.

pub mod plan;
mod write;

use chrono::{DateTime, NaiveTime, TimeDelta, Utc};
use rust_decimal::Decimal;
use uuid::Uuid;

use self::plan::Order;
use super::simulate::SimulateError;
use crate::{
    app::{
        Gateway,
        market::{Market, Offer},
    },
    asset::{Fiat, Network},
    config::ChainSourceKind,
    invoice::{InvoiceType, PaymentId, Pricing, Status, payment::PaymentView, quote},
    money::{BaseUnits, Bps, Price},
    storage::{
        self, StorageError, audit, history,
        invoices::{Invoice, UsedRate},
        merchant_hours,
        merchants::{self, MerchantRow},
        simulation,
    },
};

#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error("history is simulated in the sandbox only")]
    NotSandbox,
    #[error("no merchant has the id {0}")]
    UnknownMerchant(Uuid),
    #[error("there are no rates yet: wait until the sweeper has read some, then try again")]
    NoRates,
    #[error(transparent)]
    Simulate(#[from] SimulateError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Everything that is the same for all orders of one history.
struct Past<'a> {
    gateway: &'a Gateway,
    merchant: MerchantRow,
    ipn_url: Option<&'a str>,
    now: DateTime<Utc>,
}

impl Gateway {
    /// Writes a month of orders for a merchant, in one transaction, with one entry of the audit log
    /// instead of one for each row. Returns how many; none if the merchant has a past already.
    pub async fn simulate_history(
        &self,
        merchant_id: Uuid,
        ipn_url: Option<&str>,
        by: &str,
    ) -> Result<usize, HistoryError> {
        if !self.config.is_sandbox() {
            return Err(HistoryError::NotSandbox);
        }
        let market = self.market().await?;
        let mut tx = self.db.begin().await?;
        if !merchants::lock_for_creation(&mut tx, merchant_id).await? {
            return Err(HistoryError::UnknownMerchant(merchant_id));
        }
        let merchant = merchants::by_id(&mut tx, merchant_id).await?;
        let merchant = merchant.ok_or(HistoryError::UnknownMerchant(merchant_id))?;
        if history::has_past(&mut tx, merchant_id).await? {
            return Ok(0);
        }
        history::leave_unaudited(&mut tx).await?;
        let now = storage::now(&mut tx).await?;
        let past = Past { gateway: self, merchant, ipn_url, now };
        let (seed, _) = merchant_id.as_u64_pair();
        let orders: Vec<_> = plan::orders(seed)
            .into_iter()
            .filter_map(|order| Some((past.invoice(&order, &market)?, order)))
            .collect();
        if orders.is_empty() {
            return Err(HistoryError::NoRates);
        }
        let networks: std::collections::BTreeSet<Network> =
            orders.iter().map(|((_, offer), _)| offer.currency.network).collect();
        for network in &networks {
            simulation::lock_chain(&mut tx, *network).await?;
        }
        for ((invoice, offer), order) in &orders {
            past.write(&mut tx, invoice.clone(), offer, order).await?;
        }
        for network in networks {
            for _ in 0..self.config.chain(network).confirmations {
                simulation::mine(&mut tx, network).await?;
            }
        }
        history::age_merchant(&mut tx, merchant_id, past.begin(plan::DAYS + 1, 0)).await?;
        let detail = format!("{} orders of {} days", orders.len(), plan::DAYS);
        let act = ("merchant", "simulate-history");
        audit::note(&mut tx, act, &merchant_id.to_string(), by, &detail).await?;
        // Hours that were summed without these orders are summed anew.
        merchant_hours::forget_all(&mut tx).await?;
        tx.commit().await.map_err(StorageError::from)?;
        self.relay_wake.notify_one();
        Ok(orders.len())
    }
}

impl Past<'_> {
    /// An instant of an earlier day.
    fn begin(&self, days_ago: i64, second: i64) -> DateTime<Utc> {
        let midnight = self.now.date_naive().and_time(NaiveTime::MIN).and_utc();
        midnight - TimeDelta::days(days_ago) + TimeDelta::seconds(second)
    }

    /// The invoice of an order as it was created, in the currency that its buyer preferred or in
    /// the first that takes so small an amount.
    fn invoice(&self, order: &Order, market: &Market) -> Option<(Invoice, Offer)> {
        let price = Price::parse(&Decimal::new(i64::from(order.cents), 2).to_string()).ok()?;
        let preferred = [order.currency, "usdtmatic", "usdttrc20"];
        let offers = preferred.into_iter().filter_map(|code| market.resolve(code, None));
        let mut usable = offers.filter_map(|offer| {
            let currency = offer.currency;
            let simulated =
                self.gateway.config.chain(currency.network).source == ChainSourceKind::Simulated;
            let rate = market.last_rate(currency.symbol, Fiat::Usd)?;
            let big_enough = quote::meets_minimum(price, rate.price, rate.price, offer.min_usd);
            let amount = quote::pay_amount(price, rate.price, currency.decimals).ok()?;
            let usable = simulated && !currency.family().has_pool() && big_enough.ok()?;
            usable.then(|| (offer.clone(), amount, rate))
        });
        let (offer, amount, rate) = usable.next()?;
        let mut invoice = self.blank(order, price);
        let at = invoice.view.created_at;
        let used = UsedRate { price: rate.price, source: rate.source.clone(), observed_at: at };
        // The address is derived when it is written.
        invoice.make_payable(&offer, amount, Some(used), String::new());
        Some((invoice, offer))
    }

    fn blank(&self, order: &Order, price: Price) -> Invoice {
        let created_at = self.begin(order.days_ago, order.second);
        let window = self.merchant.payment_window_seconds;
        let view = PaymentView {
            payment_id: PaymentId::generate().to_string(),
            status: Status::Draft,
            price_amount: price,
            price_currency: Fiat::Usd.code().to_owned(),
            asset: None,
            actually_paid: BaseUnits::ZERO,
            order_id: Some(format!("CR-{}", order.number)),
            order_description: Some(order.good.to_owned()),
            ipn_callback_url: self.ipn_url.map(ToOwned::to_owned),
            invoice_type: InvoiceType::Payment,
            window_seconds: window.unsigned_abs(),
            deadline: created_at + TimeDelta::seconds(i64::from(window)),
            created_at,
            updated_at: created_at,
            subscription: None,
        };
        Invoice {
            id: Uuid::now_v7(),
            merchant_id: self.merchant.id,
            view,
            pricing_mode: Pricing::Fiat,
            token_id: None,
            credited: BaseUnits::ZERO,
            overpay_tolerance: Bps::new(self.merchant.overpay_bps.unsigned_abs()),
            underpay: crate::merchant::settings::Underpay::NONE,
            success_url: None,
            cancel_url: None,
            accepted_tokens: None,
            payment_window_seconds: window,
            rate: None,
            rate_source: None,
            rate_at: None,
            link_id: None,
            donation: None,
            subscription_id: None,
        }
    }
}
