//! Sending back the rest that an ended order holds and owes to no recipient: surplus, failed rows,
//! and all money that came for nothing.

use chrono::TimeDelta;
use uuid::Uuid;

use super::{
    booking::keep,
    errors::AdvanceError,
    intent::{Intent, unsigned},
    order::{locked, may_owe_refund},
    price::quoted_gas,
    spendable::{self, has_kept_its_fees},
    wallet::Wallet,
};
use crate::{
    app::Gateway,
    asset::catalogue::Catalogue,
    chain::pay::{Output, Payer, Work},
    money::BaseUnits,
    payout::{
        fee::Fee,
        hold::Hold,
        payment::Purpose,
        quote::{self, Prices, UnitPrice},
        recipients::least_amount,
        spend::Sweep,
    },
    storage::{
        self, StorageError, alerts,
        payouts::{self, PayoutOrder, coins, payments, safety},
    },
};

/// A network that asks more than was quoted may go on doing so for ever. After so long a refund
/// takes the difference out of the amount it sends.
const WAITS_AT_MOST: TimeDelta = TimeDelta::hours(24);

/// The part of the rest that goes back, and the part that the order keeps for the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Share {
    amount: BaseUnits,
    fee: BaseUnits,
}

impl Share {
    /// The share of outputs that are worth sending: strangers' dust stays behind, and outputs
    /// beyond those that fit go back next time. `budget` is the amount kept for it already, if it
    /// was quoted; then the rate gives way to that, down to the least that nodes take.
    fn of_coins(left: BaseUnits, sweep: Sweep, budget: Option<BaseUnits>) -> Self {
        let [held, fee, least] =
            [sweep.held, sweep.fee, sweep.fee_least].map(u128::from).map(BaseUnits::new);
        let cost = budget.map_or(fee, |budget| fee.min(budget)).max(least);
        let fee = cost.remaining_after(budget.unwrap_or(BaseUnits::ZERO));
        let amount = left.remaining_after(fee).min(held.remaining_after(cost));
        Self { amount, fee }
    }
}

/// A refund as it would be signed now.
#[derive(Debug, Clone, Copy)]
pub(super) struct Due {
    pub(super) offer: Fee,
    share: Share,
    /// The share that would go back at the quoted rate, if the network asks more now.
    as_quoted: Option<Share>,
}

impl Due {
    pub(super) fn is_worth_sending(&self, order: &PayoutOrder) -> bool {
        self.share.amount >= least_amount(order.currency)
    }

    /// Returns whether the network asks so much now that sending the refund is not worth it, while
    /// it was by the quote.
    fn is_worth_waiting(&self, order: &PayoutOrder) -> bool {
        self.as_quoted.is_some_and(|share| share.amount >= least_amount(order.currency))
    }
}

/// The cost of a refund in the order's own asset, where that does not depend on outputs.
fn refund_fee(order: &PayoutOrder, rate: u128) -> Result<BaseUnits, StorageError> {
    let prices =
        Prices { native_usd: order.quote.native_price_usd, asset_usd: order.quote.asset_price_usd };
    let decimals = Catalogue::get().native(order.currency.network).decimals;
    let price = UnitPrice { rate, gas: quoted_gas(order)? };
    let fee = quote::refund_fee(order.currency, decimals, price, prices);
    fee.map_err(|fault| StorageError::damaged("payout_order", fault))
}

/// The amount that an order has kept and that may pay for its refund: the fee quoted for one, and
/// our own fee.
fn kept_for_refund(order: &PayoutOrder, service: BaseUnits) -> Result<BaseUnits, StorageError> {
    let quoted = refund_fee(order, order.quote.fee_rate)?;
    Ok(quoted.saturating_add(service).min(order.books.kept))
}

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
        drop(connection);
        // A refund that failed is one that a block has ended, and it held the order: the operator
        // who released it since asks for another.
        if open.iter().any(|payment| !payment.purpose.moves_gas()) {
            return Ok(false);
        }
        let Some(due) = self.refund_due(&order, payer).await? else { return Ok(false) };
        if !due.is_worth_sending(&order) {
            if due.is_worth_waiting(&order) {
                return self.waits_for_fees(&order, "it would cost nearly the whole refund").await;
            }
            self.keep_remainder(order_id, order.books.left()).await?;
            return Ok(false);
        }
        let Due { offer, share: Share { amount, fee }, .. } = due;
        if self.payments_with_gas(&order, &open, payer, offer).await? == 0 {
            return Ok(false);
        }
        let outputs = vec![Output { address, amount }];
        let Some(mut payment) = unsigned(&order, outputs, offer) else { return Ok(false) };
        match payer.work(&payment).await? {
            Work::Units(work) if work <= payment.work => payment.work = work,
            Work::Units(_) => return self.hold_refund(&order, "it needs too much work").await,
            Work::Refused(why) => return self.hold_refund(&order, &why).await,
        }
        let intent = Intent { purpose: Purpose::Refund, items: vec![], kept: fee, parent: None };
        self.sign_and_store(order_id, vec![(intent, payment)], payer, wallet).await
    }

    /// The refund that would go out now; `None` while the network asks too much for it, or outputs
    /// that hold it stand in no block.
    pub(super) async fn refund_due(
        &self,
        order: &PayoutOrder,
        payer: &Payer,
    ) -> Result<Option<Due>, AdvanceError> {
        let mut connection = self.db.connection().await?;
        let refund = Some(Purpose::Refund);
        let earlier = payments::of_order(&mut connection, order.id, refund).await?;
        let service = spendable::service_kept(&mut connection, order).await?;
        drop(connection);
        // The quote of an order that was paid out covers one refund; any other pays for itself.
        let covered = match has_kept_its_fees(order) && earlier.is_empty() {
            true => Some(kept_for_refund(order, service)?),
            false => None,
        };
        let Some(offer) = self.refund_offer(order, payer, covered).await? else { return Ok(None) };
        let rate = offer.all_in(quoted_gas(order)?);
        let Some(share) = self.share(order, payer, (offer, rate), covered).await? else {
            return Ok(None);
        };
        let quoted = order.quote.fee_rate;
        let as_quoted = match rate > quoted {
            true => self.share(order, payer, (Fee::of(quoted), quoted), covered).await?,
            false => None,
        };
        Ok(Some(Due { offer, share, as_quoted }))
    }

    /// The offer for a refund, for which `covered` was kept. A quote that is long gone bounds
    /// nothing that is taken out of the refund itself: only our highest offer does.
    async fn refund_offer(
        &self,
        order: &PayoutOrder,
        payer: &Payer,
        covered: Option<BaseUnits>,
    ) -> Result<Option<Fee>, AdvanceError> {
        let quoted = order.quote.fee_rate;
        let Some(asked) = payer.fee().await? else { return Ok(Some(Fee::of(quoted))) };
        let work = quoted_gas(order)?;
        let all_in = asked.all_in(work);
        if let Some(kept) = covered {
            if let Some(offer) = asked.within(quoted, work) {
                return Ok(Some(offer));
            }
            // Out of outputs our own fee gives way when they are chosen.
            let gives_way = !payer.spends_coins() && refund_fee(order, all_in)? <= kept;
            if !gives_way && !self.has_waited(order).await? {
                let why = format!("a unit of work would cost {all_in}, above the quoted {quoted}");
                self.waits_for_fees(order, &why).await?;
                return Ok(None);
            }
        }
        let most = self.config.chain(order.currency.network).fee_rate_max.max(quoted);
        if all_in > most {
            let why = format!("a unit of work would cost {all_in}, above the bound of {most}");
            self.waits_for_fees(order, &why).await?;
            return Ok(None);
        }
        Ok(Some(asked))
    }

    async fn has_waited(&self, order: &PayoutOrder) -> Result<bool, StorageError> {
        let mut connection = self.db.connection().await?;
        let now = storage::now(&mut connection).await?;
        Ok(order.finished_at.is_some_and(|at| now - at >= WAITS_AT_MOST))
    }

    /// Nothing was signed.
    async fn waits_for_fees(&self, order: &PayoutOrder, why: &str) -> Result<bool, AdvanceError> {
        let why = format!("its refund waits until the network asks for less: {why}");
        tracing::warn!(order.id = order.order_id, why, "a refund waits");
        let mut connection = self.db.connection().await?;
        safety::note_wait(&mut connection, order.id, Some(&why)).await?;
        Ok(false)
    }

    /// `None` while outputs that hold most of it stand in no block.
    async fn share(
        &self,
        order: &PayoutOrder,
        payer: &Payer,
        (offer, rate): (Fee, u128),
        covered: Option<BaseUnits>,
    ) -> Result<Option<Share>, AdvanceError> {
        let left = order.books.left();
        if payer.spends_coins() {
            let mut connection = self.db.connection().await?;
            let coins = coins::spendable(&mut connection, order.id).await?;
            if let Some(sweep) = payer.sweep(&coins, offer) {
                let there =
                    coins.iter().fold(0_u128, |sum, coin| sum.saturating_add(coin.amount.get()));
                if there < left.get() / 2 {
                    return Ok(None);
                }
                let budget = match covered {
                    Some(_) => Some(spendable::unspent(&mut connection, order).await?),
                    None => None,
                };
                return Ok(Some(Share::of_coins(left, sweep, budget)));
            }
        }
        let fee = refund_fee(order, rate)?.remaining_after(covered.unwrap_or(BaseUnits::ZERO));
        Ok(Some(Share { amount: left.remaining_after(fee), fee }))
    }

    async fn hold_refund(&self, order: &PayoutOrder, why: &str) -> Result<bool, AdvanceError> {
        let mut tx = self.db.begin().await?;
        let hold = Hold::for_review(&format!("its refund cannot be sent: {why}"));
        self.hold_payout(&mut tx, order, "payout_refund_failed", &hold).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(false)
    }

    /// Keeps an amount here that is worth less than its sending, and alerts the operator.
    async fn keep_remainder(&self, order_id: Uuid, left: BaseUnits) -> Result<(), StorageError> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn share(left: u128, sweep: (u64, u64, u64), budget: Option<u128>) -> (u128, u128) {
        let (held, fee, fee_least) = sweep;
        let sweep = Sweep { held, fee, fee_least };
        let share = Share::of_coins(BaseUnits::new(left), sweep, budget.map(BaseUnits::new));
        (share.amount.get(), share.fee.get())
    }

    #[test]
    fn a_refund_is_the_rest_less_any_fee_that_was_not_reserved_for_it() {
        // Quoted: out of the amount kept. Not quoted: out of itself.
        assert_eq!(share(10_000, (11_500, 1_000, 100), Some(1_500)), (10_000, 0));
        assert_eq!(share(10_000, (10_000, 1_000, 100), None), (9_000, 1_000));
        // The rate gives way to the amount kept, but not below the least that nodes take.
        assert_eq!(share(10_000, (10_500, 1_000, 100), Some(500)), (10_000, 0));
        assert_eq!(share(10_000, (10_050, 1_000, 100), Some(50)), (9_950, 50));
        // Dust that is not worth its fee stays.
        assert_eq!(share(10_000, (9_000, 1_000, 100), None), (8_000, 1_000));
        assert_eq!(share(10_000, (9_000, 1_000, 100), Some(1_500)), (8_000, 0));
        assert_eq!(share(600, (0, 0, 0), None), (0, 0));
    }
}
