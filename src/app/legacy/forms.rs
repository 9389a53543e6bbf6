//! Orders by hosted forms. Their visitors have no key: the form names the merchant, the price is
//! theirs to edit, and the draft has no address until they choose a currency.

use std::sync::Arc;

use tracing::Instrument;
use uuid::Uuid;

use super::{
    LegacyError,
    create::{PricedIn, Terms},
};
use crate::{
    app::{
        Gateway,
        invoice::create::{PayWith, quote_request},
        keyed_limiter::KeyedLimiter,
        operator::measure::count_transition,
    },
    invoice::Pricing,
    legacy::{
        Refusal,
        order::{IpnType, Order},
    },
    money::Price,
    storage::{
        StorageError,
        access::{self, Caller},
        legacy_keys, legacy_payments, merchants,
    },
};

/// Concurrent orders per merchant; the others wait for them, not for the lock of the merchant's
/// row, each with a database connection.
const TOGETHER: usize = 2;
/// Share of a merchant's open invoices that visitors may fill. The rest is the shop's own.
const QUOTA_SHARE: i64 = 2;

/// Orders in progress, by their merchant.
#[derive(Default)]
pub(crate) struct Forms(KeyedLimiter<Uuid>);

/// A validated form.
#[derive(Debug, Clone)]
pub struct FormOrder {
    pub merchant_id: Uuid,
    pub ipn_type: IpnType,
    /// The whole price, in `currency1` as sent.
    pub amount: Price,
    pub currency1: String,
    pub terms: Terms,
}

impl Gateway {
    /// Creates the draft that a form asks for, and returns its `payment_id`.
    pub async fn order_by_legacy_form(
        self: &Arc<Self>,
        client: &str,
        order: FormOrder,
    ) -> Result<String, LegacyError> {
        let merchant_id = order.merchant_id;
        let caller = self.admit_form(merchant_id, client).await?;
        let turn = self.legacy_forms.0.take(merchant_id, TOGETHER).await;
        let gateway = self.clone();
        let ordering = async move { gateway.order_in_form_turn(&caller, &order).await };
        let ordered = turn.during(ordering.in_current_span()).await;
        ordered.unwrap_or(Err(StorageError::TimedOut.into()))
    }

    /// Counts a try against the budget of this address for this merchant. A merchant without keys
    /// has no forms.
    async fn admit_form(&self, merchant_id: Uuid, client: &str) -> Result<Caller, LegacyError> {
        let mut connection = self.db.connection().await?;
        let keys = legacy_keys::of_merchant(&mut connection, merchant_id).await?;
        keys.ok_or(Refusal::Merchant)?;
        let budget = format!("legacy:{merchant_id}");
        if !access::admit_visitor(&mut connection, &budget, client).await? {
            return Err(Refusal::TooManyRequests.into());
        }
        let caller = access::caller(&mut connection, merchant_id).await?;
        let caller = caller.ok_or(Refusal::Merchant)?;
        if caller.suspended { Err(Refusal::Suspended.into()) } else { Ok(caller) }
    }

    async fn order_in_form_turn(
        &self,
        caller: &Caller,
        order: &FormOrder,
    ) -> Result<String, LegacyError> {
        let market = self.market().await?;
        let priced_in = PricedIn::named(&order.currency1);
        let priced_in = priced_in.ok_or(Refusal::Currency("currency"))?;
        let (price, fiat) = priced_in.in_fiat(&market, order.amount)?;
        let (pay, pricing) = (PayWith::BuyersChoice, Pricing::Fiat);
        let request = order.terms.invoice(price, fiat.code().to_owned(), pay, pricing);
        let quoted = quote_request(&market, caller, &request)?;
        let fields = order.terms.fields.clone();
        let kept = Order::new(order.ipn_type, priced_in.code(), order.amount, fields);

        let mut tx = self.db.begin().await?;
        if !merchants::lock_for_creation(&mut tx, caller.merchant_id).await? {
            return Err(Refusal::Suspended.into());
        }
        let quota = (i64::from(caller.open_invoices_max) / QUOTA_SHARE).max(1);
        if legacy_payments::open_of_forms(&mut tx, caller.merchant_id, quota).await? >= quota {
            return Err(Refusal::Quota.into());
        }
        let (invoice, _) = self.insert_invoice(&mut tx, caller, &request, quoted).await?;
        legacy_payments::insert(&mut tx, invoice.id, caller.merchant_id, &kept).await?;
        tx.commit().await.map_err(StorageError::from)?;
        count_transition(None, invoice.view.status);
        self.relay_wake.notify_one();
        Ok(invoice.view.payment_id)
    }
}
