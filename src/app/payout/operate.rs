//! Operators' actions on orders: look, hold, release, help along, cancel, and stop everything.

use rust_decimal::Decimal;
use uuid::Uuid;

use super::{
    decide::{look_at, look_soon},
    errors::{OperateError, PayoutError},
    order::{locked, value_usd},
};
use crate::{
    app::Gateway,
    asset::address,
    money::BaseUnits,
    payout::{State, batch::Tally, hold::Hold, lifecycle::CancelledBy, order::BatchView},
    storage::{
        StorageError, audit,
        deliveries::DeliveryRow,
        deposits::{self, DepositRow},
        payouts::{
            self, PayoutOrder, batches, events, items,
            payments::{self, PaymentRow},
            safety::{self, Release},
        },
    },
};

const PEOPLE_NEEDED: i64 = 2;

/// Everything about one order.
pub struct Story {
    pub order: PayoutOrder,
    pub object: String,
    pub deposits: Vec<DepositRow>,
    pub batches: Vec<BatchView>,
    pub payments: Vec<PaymentRow>,
    pub events: Vec<DeliveryRow>,
    pub releases: i64,
}

impl Gateway {
    pub async fn list_all_payouts(
        &self,
        merchant_id: Option<Uuid>,
        state: Option<State>,
        limit: i64,
    ) -> Result<Vec<PayoutOrder>, StorageError> {
        let mut connection = self.db.connection().await?;
        payouts::list(&mut connection, merchant_id, state, limit).await
    }

    pub async fn explain_payout(&self, order_id: &str) -> Result<Story, OperateError> {
        let order = self.known_payout(order_id).await?;
        let mut tx = self.db.begin().await?;
        let network = order.currency.network;
        let required = self.required_of(&order);
        Ok(Story {
            object: self.payout_snapshot(&mut tx, &order, None).await?,
            deposits: deposits::of_payout(&mut tx, order.id).await?,
            batches: batches::views(&mut tx, order.id, network, None, required).await?,
            payments: payments::of_order(&mut tx, order.id, None).await?,
            events: events::of_payout(&mut tx, order.id).await?,
            releases: safety::releases(&mut tx, order.id).await?,
            order,
        })
    }

    /// An order and where its rows stand: enough to watch it by, however large it is.
    pub async fn payout_progress(
        &self,
        order_id: &str,
    ) -> Result<(PayoutOrder, Tally), OperateError> {
        let order = self.known_payout(order_id).await?;
        let mut connection = self.db.connection().await?;
        let rows = items::tally(&mut connection, order.id).await?;
        Ok((order, rows))
    }

    pub(super) async fn known_payout(&self, order_id: &str) -> Result<PayoutOrder, OperateError> {
        let mut connection = self.db.connection().await?;
        let order = payouts::by_order_id(&mut connection, order_id).await?;
        order.ok_or_else(|| OperateError::UnknownOrder(order_id.to_owned()))
    }

    /// Nothing more is signed for the order until it is released.
    pub async fn hold_order(&self, order_id: &str, reason: &str) -> Result<(), OperateError> {
        let order = self.known_payout(order_id).await?;
        if order.state.is_terminal() && order.books.left().is_zero() {
            return Err(OperateError::Ended);
        }
        let mut tx = self.db.begin().await?;
        if !safety::hold(&mut tx, order.id, &Hold::for_review(reason)).await? {
            let held = locked(&mut tx, order.id).await?.held;
            return Err(held.map_or(OperateError::NotHeld, OperateError::Held));
        }
        tx.commit().await.map_err(StorageError::from)?;
        Ok(())
    }

    /// One person lets a held order go. Returns how many more are needed.
    pub async fn release_order(&self, order_id: &str, by: &str) -> Result<i64, OperateError> {
        self.release(order_id, Release { by, seen: None }).await
    }

    /// The same for a signed-in account, which saw the order as the digest `seen` names it
    /// ([`Gateway::digest_of_hold`]). Refused if the order or its hold is another one now.
    pub async fn release_order_seen(
        &self,
        order_id: &str,
        by: &str,
        seen: &str,
    ) -> Result<i64, OperateError> {
        self.release(order_id, Release { by, seen: Some(seen) }).await
    }

    async fn release(&self, order_id: &str, release: Release<'_>) -> Result<i64, OperateError> {
        let id = self.known_payout(order_id).await?.id;
        let mut tx = self.db.begin().await?;
        let order = locked(&mut tx, id).await?;
        if order.held.is_none() {
            return Err(OperateError::NotHeld);
        }
        if let Some(seen) = release.seen
            && self.digest_of_locked(&mut tx, &order).await? != seen
        {
            return Err(OperateError::ChangedMeanwhile);
        }
        let missing = missing(&order);
        if !missing.is_zero() {
            return Err(OperateError::FundsGone { missing: missing.get() });
        }
        let needed = self.people_needed();
        let released = safety::release(&mut tx, order.id, release, needed).await?;
        let released = released.ok_or(OperateError::LetInMeanwhile)?;
        if released >= needed {
            safety::end_hold(&mut tx, order.id).await?;
            // An ended order has no timer while it is held, and a message may get lost.
            look_soon(&mut tx, order.id).await?;
        }
        tx.commit().await.map_err(StorageError::from)?;
        self.relay_wake.notify_one();
        Ok((needed - released).max(0))
    }

    /// The number of people who must let a held order go.
    pub(super) const fn people_needed(&self) -> i64 {
        if self.config.payouts.two_people_above_usd > 0 { PEOPLE_NEEDED } else { 1 }
    }

    /// Decides where an order's refund goes, if its merchant never did: the amount owed to him
    /// would stay here for ever. For an order above the limit two operators must name the same
    /// address. Returns the address, and how many confirmations are still missing.
    pub async fn refund_order_to(
        &self,
        order_id: &str,
        address: &str,
        by: &str,
    ) -> Result<(String, i64), OperateError> {
        let id = self.known_payout(order_id).await?.id;
        let mut tx = self.db.begin().await?;
        let order = locked(&mut tx, id).await?;
        if let Some(set) = &order.refund_address {
            return Err(OperateError::RefundsGoTo(set.clone()));
        }
        let network = order.currency.network;
        let address = address::validate_in(self.realm(network), network, address)
            .map_err(PayoutError::RefundAddress)?;
        self.refuse_own_refund(&mut tx, order.currency, Some(&address)).await?;
        let proposed = ("payout_order", "refund-to-proposed");
        if self.needs_two_people(&order)
            && !audit::was_said_by_another(&mut tx, proposed, order_id, (by, &address)).await?
        {
            audit::note(&mut tx, proposed, order_id, by, &address).await?;
            tx.commit().await.map_err(StorageError::from)?;
            return Ok((address, 1));
        }
        let rows = self.rows_to_bind(&mut tx, &order).await?;
        payouts::set_refund_address(&mut tx, id, &address).await?;
        if let Some(rows) = rows {
            self.bind(&mut tx, id, &rows).await?;
        }
        audit::note(&mut tx, ("payout_order", "refund-to"), order_id, by, &address).await?;
        if order.state.is_terminal() {
            look_soon(&mut tx, id).await?;
        }
        tx.commit().await.map_err(StorageError::from)?;
        self.relay_wake.notify_one();
        Ok((address, 0))
    }

    /// Returns whether an order, or the amount to go back of it, is worth more than one operator
    /// decides about.
    pub(super) fn needs_two_people(&self, order: &PayoutOrder) -> bool {
        let limit = self.config.payouts.two_people_above_usd;
        let worth = order.payout_total.max(order.books.left());
        limit > 0 && value_usd(order, worth) > Decimal::from(limit)
    }

    /// Offers more for payments that wait: the same nonce, so only one version can confirm. Within
    /// the quote only. Returns for how many: the others only go out again.
    pub async fn bump_order(&self, order_id: &str) -> Result<u64, OperateError> {
        let order = self.known_payout(order_id).await?;
        let mut tx = self.db.begin().await?;
        if payments::age(&mut tx, order.id).await? == 0 {
            return Err(OperateError::NothingToBump);
        }
        let raised = self.can_be_raised(&order).await?;
        look_at(&mut tx, order.id).await?;
        tx.commit().await.map_err(StorageError::from)?;
        self.relay_wake.notify_one();
        Ok(raised)
    }

    /// Cancels an order for which nothing was signed; the money that came in goes back.
    pub async fn cancel_any_payout(&self, order_id: &str) -> Result<String, OperateError> {
        let order = self.known_payout(order_id).await?;
        match self.cancel_order(order.id, CancelledBy::Operator).await {
            Err(PayoutError::InvalidState(state)) => Err(OperateError::TooLateToCancel(state)),
            decided => Ok(decided?),
        }
    }

    /// Stops all signing on a network, or everywhere for `*`.
    pub async fn stop_payouts(&self, network: &str, reason: &str) -> Result<(), StorageError> {
        let mut connection = self.db.connection().await?;
        safety::stop(&mut connection, network, reason).await
    }

    pub async fn resume_payouts(&self, network: &str) -> Result<bool, StorageError> {
        let mut connection = self.db.connection().await?;
        safety::resume(&mut connection, network).await
    }

    /// Why nothing is signed on a network now, if so; `*` asks for the stop of all networks alone.
    pub async fn payouts_stopped(&self, network: &str) -> Result<Option<String>, StorageError> {
        let mut connection = self.db.connection().await?;
        safety::switch(&mut connection, network).await
    }
}

/// The shortfall of an order against the amount it is still to pay: it had all of it once, or it
/// would not be paid out.
fn missing(order: &PayoutOrder) -> BaseUnits {
    match order.state {
        State::Funded | State::Processing => {
            let books = &order.books;
            let due = order.total_to_send.remaining_after(books.failed);
            [books.credited, books.late].into_iter().fold(due, BaseUnits::remaining_after)
        }
        State::Draft
        | State::PendingDeposit
        | State::Completed
        | State::PartialFailed
        | State::Expired
        | State::Cancelled => BaseUnits::ZERO,
    }
}
