//! Sending back what an ended order holds and owes to nobody: surplus, failed rows, and everything that came for nothing.

use uuid::Uuid;

use super::{
    advance::AdvanceError,
    gas::is_gas,
    purse::has_kept_its_fees,
    sign::{Intent, keep, unsigned},
    view::{locked, may_owe_refund},
    wallet::Wallet,
};
use crate::{
    app::Gateway,
    asset::catalogue::Catalogue,
    chain::pay::{Output, Payer, Work},
    money::BaseUnits,
    payout::{
        quote::{self, Prices},
        recipients::least_amount,
    },
    storage::{
        StorageError, alerts,
        payouts::{
            self, PayoutOrder, coins,
            payments::{self, Purpose},
        },
    },
};

impl Gateway {
    /// Signs the refund that is due, if one is. `true` if it was signed.
    pub(super) async fn refund(
        &self,
        order_id: Uuid,
        payer: &Payer,
        wallet: &Wallet,
    ) -> Result<bool, AdvanceError> {
        let mut connection = self.db.connection().await?;
        let order = payouts::by_id(&mut connection, order_id).await?;
        let order = order.ok_or(AdvanceError::UnknownOrder)?;
        let Some(address) = order.refund_address.clone() else { return Ok(false) };
        if !may_owe_refund(&order) || order.held.is_some() {
            return Ok(false);
        }
        let open = payments::open(&mut connection, order_id).await?;
        let earlier = payments::of_order(&mut connection, order_id, Some(Purpose::Refund)).await?;
        drop(connection);
        // A refund that failed is one that a block has ended, and it held the order: who released it since asks for another.
        if open.iter().any(|payment| !is_gas(&payment.purpose)) {
            return Ok(false);
        }
        let Some(offer) = self.affordable_fee(&order, payer).await? else { return Ok(false) };
        if self.payments_with_gas(&order, &open, payer, offer).await? == 0 {
            return Ok(false);
        }
        // The quote of an order that was paid out covers one refund; any other pays for itself.
        let covered = has_kept_its_fees(&order) && earlier.is_empty();
        let fee = if covered {
            BaseUnits::ZERO
        } else {
            let rate = offer.all_in(quote::gas_per_transfer(order.currency));
            self.refund_fee(&order, payer, rate).await?
        };
        let left = order.books.left();
        let amount = left.remaining_after(fee);
        if amount < least_amount(order.currency) {
            self.keep_crumbs(order_id, left).await?;
            return Ok(false);
        }
        let outputs = vec![Output { address, amount }];
        let Some(mut payment) = unsigned(&order, outputs, offer) else { return Ok(false) };
        match payer.work(&payment).await? {
            Work::Units(work) if work <= payment.work => payment.work = work,
            Work::Units(_) => return self.hold_refund(&order, "it needs too much work").await,
            Work::Refused(why) => return self.hold_refund(&order, &why).await,
        }
        let intent = Intent { purpose: Purpose::Refund, items: vec![], kept: fee, pulls: None };
        self.sign_and_store(order_id, vec![(intent, payment)], payer, wallet).await
    }

    /// What a refund that nothing was quoted for takes out of what it sends.
    async fn refund_fee(
        &self,
        order: &PayoutOrder,
        payer: &Payer,
        rate: u128,
    ) -> Result<BaseUnits, AdvanceError> {
        if payer.spends_coins() {
            let mut connection = self.db.connection().await?;
            let coins = coins::spendable(&mut connection, order.id).await?.len();
            if let Some(fee) = payer.sweep_fee(coins, rate) {
                return Ok(fee);
            }
        }
        let prices = Prices {
            native_usd: order.quote.native_price_usd,
            asset_usd: order.quote.asset_price_usd,
        };
        let decimals = Catalogue::get().native(order.currency.network).decimals;
        let fee = quote::refund_fee(order.currency, decimals, rate, prices);
        Ok(fee.map_err(|fault| StorageError::damaged("payout_order", fault))?)
    }

    async fn hold_refund(&self, order: &PayoutOrder, why: &str) -> Result<bool, AdvanceError> {
        let mut tx = self.db.begin().await?;
        let reason = format!("its refund cannot be sent: {why}");
        self.hold_payout(&mut tx, order, "payout_refund_failed", &reason).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(false)
    }

    /// What is worth less than sending it stays here, and the operator is told.
    async fn keep_crumbs(&self, order_id: Uuid, left: BaseUnits) -> Result<(), StorageError> {
        let mut tx = self.db.begin().await?;
        let mut order = locked(&mut tx, order_id).await?;
        if order.books.left() != left {
            return Ok(());
        }
        let detail = format!("{} base units are worth less than sending them back", left.get());
        alerts::raise(&mut tx, "payout_crumbs_kept", &order.order_id, &detail).await?;
        keep(&mut tx, &mut order, Uuid::now_v7(), left).await?;
        payouts::update_standing(&mut tx, &order).await?;
        tx.commit().await?;
        Ok(())
    }
}
