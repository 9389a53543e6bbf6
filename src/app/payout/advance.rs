//! Moving an order on: from funded to the last confirmation, one step after the other, each from
//! rows.
//!
//! A worker that is killed between two steps has lost nothing: signed payments are stored, stored
//! ones are looked for on the chain, and the same bytes go out again. A message only names the
//! order to look at.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use chrono::TimeDelta;
use rust_decimal::Decimal;
use uuid::Uuid;

use super::{
    booking::{give_back, keep},
    errors::AdvanceError,
    order::{locked, may_owe_refund, value_usd, waits},
    wallet::Wallet,
};
use crate::{
    app::{
        Gateway,
        payout::payers::{Payers, Purpose},
    },
    asset::Network,
    payout::{
        EventType, State,
        batch::{self, BatchState},
        hold::Hold,
        lifecycle::{self, Event, Verdict},
    },
    storage::{
        self, PgConnection, StorageError, alerts,
        payouts::{
            self, PayoutOrder, batches, payments,
            safety::{self, Stop},
        },
        timers,
    },
};

/// One call works on one order for so long; the rest comes with the next look.
const WORK_MAX: Duration = Duration::from_secs(18);
const LEASE_SECONDS: i32 = 30;
const LOOK_AGAIN_MIN: TimeDelta = TimeDelta::milliseconds(300);
/// While it is held or stopped, or its node is away.
const LOOK_AGAIN_IDLE: TimeDelta = TimeDelta::seconds(15);
const PEOPLE_NEEDED: i64 = 2;

impl Gateway {
    /// Looks at one order and takes the steps that are due.
    pub async fn advance_payout(&self, id: Uuid, wallet: &Wallet) -> Result<(), AdvanceError> {
        let Some(order) = self.ready_to_pay(id).await? else { return Ok(()) };
        let mut connection = self.db.connection().await?;
        if !payouts::lease(&mut connection, id, LEASE_SECONDS).await? {
            return Ok(());
        }
        drop(connection);
        let outcome = self.work_on(&order, wallet).await;
        let mut tx = self.db.begin().await?;
        payouts::end_lease(&mut tx, id).await?;
        self.look_again(&mut tx, id, outcome.is_err()).await?;
        tx.commit().await.map_err(StorageError::from)?;
        self.relay_wake.notify_one();
        outcome
    }

    /// Funding, deadline and start, which need no chain. `None` if there is nothing to pay or to
    /// follow.
    async fn ready_to_pay(&self, id: Uuid) -> Result<Option<PayoutOrder>, AdvanceError> {
        let mut tx = self.db.begin().await?;
        if payouts::lock(&mut tx, id).await?.is_none() {
            return Err(AdvanceError::UnknownOrder);
        }
        self.fund_payout(&mut tx, id).await?;
        let mut order = locked(&mut tx, id).await?;
        self.take_back_reorged(&mut tx, &mut order).await?;
        match order.state {
            State::Draft | State::PendingDeposit => self.expire_payout(&mut tx, &mut order).await?,
            State::Funded => self.begin_paying(&mut tx, &mut order).await?,
            State::Processing
            | State::Completed
            | State::PartialFailed
            | State::Expired
            | State::Cancelled => {}
        }
        let open = payments::open(&mut tx, id).await?;
        let busy = order.state == State::Processing
            || may_owe_refund(&order)
            || order.gas_open
            || !open.is_empty();
        if order.state.is_terminal() && !busy {
            timers::clear(&mut tx, timers::PAYOUT, id).await?;
        }
        tx.commit().await.map_err(StorageError::from)?;
        self.relay_wake.notify_one();
        Ok(busy.then_some(order))
    }

    /// A funded order starts, unless people must let it go first. Its fees are taken now, at the
    /// quoted price.
    async fn begin_paying(
        &self,
        tx: &mut PgConnection,
        order: &mut PayoutOrder,
    ) -> Result<(), StorageError> {
        let limit = self.config.payouts.two_people_above_usd;
        let value = value_usd(order, order.payout_total);
        if limit > 0 && value > Decimal::from(limit) {
            let released = safety::releases(tx, order.id).await?;
            if released < PEOPLE_NEEDED {
                let reason = format!("worth {value} USD: {PEOPLE_NEEDED} people must release it");
                let hold = Hold::for_review(&reason);
                safety::hold(tx, order.id, &hold).await?;
                order.held = Some(hold);
            }
        }
        if let Some(stop) =
            safety::stopped(tx, order.currency.network.name(), order.merchant_id).await?
            && stop == Stop::MerchantSuspended
        {
            waits(tx, order, "its merchant is suspended").await?;
            let due_at = storage::now(tx).await? + LOOK_AGAIN_IDLE;
            return timers::set(tx, timers::PAYOUT, order.id, due_at).await;
        }
        if order.held.as_ref().is_some_and(Hold::ends_by_itself) {
            // Priced anew while it waited: gas is looked at again once it is being paid.
            safety::end_hold(tx, order.id).await?;
            order.held = None;
        }
        if order.held.is_none() && self.bound(tx, order).await?.is_none() {
            order.held = locked(tx, order.id).await?.held;
        }
        if order.held.is_some() {
            let due_at = storage::now(tx).await? + LOOK_AGAIN_IDLE;
            return timers::set(tx, timers::PAYOUT, order.id, due_at).await;
        }
        let now = storage::now(tx).await?;
        let step = lifecycle::step(&order.for_lifecycle(), Event::SendingBegins, now);
        let fees = order.quote.network_fee.checked_add(order.quote.service_fee);
        let fees =
            fees.ok_or_else(|| StorageError::damaged("payout_order", "its fees overflow"))?;
        // An order whose quote was refreshed while nothing of it was signed begins again.
        keep(tx, order, Uuid::now_v7(), fees).await?;
        self.apply_decision(tx, order, &step, Uuid::nil()).await
    }

    async fn work_on(&self, order: &PayoutOrder, wallet: &Wallet) -> Result<(), AdvanceError> {
        let payers = self.payers_of(order.currency.network)?;
        let payer = &payers.payer;
        let started = Instant::now();
        loop {
            let moved = self.follow_and_sign(order, &payers, wallet).await;
            // Whatever the node's objection to the next payment: stored payments go out, and events
            // that are due are recorded.
            let sent = self.send_signed(order.id, payer).await;
            self.tell_batches(order.id).await?;
            let (moved, sent) = (moved?, sent?);
            let refunded = self.refund(order.id, payer, wallet).await?;
            let returned = self.return_gas(order.id, payer, wallet).await?;
            if !(moved || sent || refunded || returned) || started.elapsed() > WORK_MAX {
                return Ok(());
            }
        }
    }

    /// Looks for the payments sent before and signs the next ones. An obstacle to signing is noted
    /// with the order.
    async fn follow_and_sign(
        &self,
        order: &PayoutOrder,
        payers: &Payers,
        wallet: &Wallet,
    ) -> Result<bool, AdvanceError> {
        let followed = self.follow_payments(order.id, payers, wallet).await?;
        match self.front_and_sign(order.id, payers, wallet).await {
            Ok(signed) => Ok(followed || signed),
            Err(error) => {
                if let AdvanceError::Chain(told) = &error {
                    let mut connection = self.db.connection().await?;
                    waits(&mut connection, order, &told.to_string()).await?;
                }
                Err(error)
            }
        }
    }

    async fn front_and_sign(
        &self,
        order_id: Uuid,
        payers: &Payers,
        wallet: &Wallet,
    ) -> Result<bool, AdvanceError> {
        let fronted = self.front_gas(order_id, &payers.payer, wallet).await?;
        Ok(self.sign_next(order_id, payers, wallet).await? || fronted)
    }

    /// The payers of orders on a network, as it is configured.
    pub(in crate::app) fn payers_of(&self, network: Network) -> Result<Arc<Payers>, AdvanceError> {
        self.payers(network, Purpose::Orders)?.ok_or(AdvanceError::NoPayer)
    }

    /// Batches follow from their rows; when none is open any more, the order has ended.
    async fn tell_batches(&self, id: Uuid) -> Result<(), AdvanceError> {
        let mut tx = self.db.begin().await?;
        let mut order = locked(&mut tx, id).await?;
        // Of an order that has ended, those batches are open that a reorg opened again.
        let is_over = order.state != State::Processing;
        for open in batches::open(&mut tx, id).await? {
            if is_over && open.told_as == open.id {
                continue;
            }
            let after = batch::state_of(open.state, open.rows);
            if after == open.state {
                continue;
            }
            batches::set_state(&mut tx, open.id, after).await?;
            for event in events_between(open.state, after, open.rows.confirmed > 0) {
                let subject = (open.id, open.told_as);
                self.emit_of_batch(&mut tx, &order, *event, subject).await?;
            }
        }
        let (any_failed, open) = batches::standing(&mut tx, id).await?;
        if open == 0 {
            let now = storage::now(&mut tx).await?;
            let event = Event::BatchesEnded { any_failed };
            let step = lifecycle::step(&order.for_lifecycle(), event, now);
            if step.verdict == Verdict::Moved {
                let fees = self.fees_to_return(&mut tx, &order).await?;
                give_back(&mut tx, &mut order, fees).await?;
                self.apply_decision(&mut tx, &mut order, &step, Uuid::nil()).await?;
            }
        }
        tx.commit().await.map_err(StorageError::from)?;
        self.relay_wake.notify_one();
        Ok(())
    }

    async fn look_again(
        &self,
        tx: &mut PgConnection,
        id: Uuid,
        in_trouble: bool,
    ) -> Result<(), StorageError> {
        let order = locked(tx, id).await?;
        let open = payments::open(tx, id).await?;
        let refundable = may_owe_refund(&order) && order.refund_address.is_some();
        let held = order.held.as_ref().is_some_and(|hold| !hold.ends_by_itself());
        let waits_for_people = held || !(refundable || order.gas_open);
        if order.state.is_terminal() && open.is_empty() && waits_for_people {
            return timers::clear(tx, timers::PAYOUT, id).await;
        }
        let network = order.currency.network;
        let stopped = safety::stopped(tx, network.name(), order.merchant_id).await?.is_some();
        let idle = in_trouble
            || open.is_empty() && (order.held.is_some() || stopped || order.state.is_terminal());
        let poll = TimeDelta::from_std(self.config.chain(network).poll).unwrap_or(LOOK_AGAIN_IDLE);
        let pause = if idle { LOOK_AGAIN_IDLE } else { poll.max(LOOK_AGAIN_MIN) };
        let due_at = storage::now(tx).await? + pause;
        timers::set(tx, timers::PAYOUT, id, due_at).await
    }

    /// Nothing more is signed for an order until a person has looked.
    pub(super) async fn hold_payout(
        &self,
        tx: &mut PgConnection,
        order: &PayoutOrder,
        kind: &str,
        hold: &Hold,
    ) -> Result<(), StorageError> {
        let reason = hold.reason();
        if safety::hold(tx, order.id, hold).await? {
            tracing::error!(order.id = order.order_id, reason, "a payout order is held");
        }
        alerts::raise(tx, kind, &order.order_id, reason).await?;
        Ok(())
    }
}

/// A batch that passes through several states at once emits the event of each that has one. A batch
/// that paid any recipient was sent.
const fn events_between(
    before: BatchState,
    after: BatchState,
    has_paid: bool,
) -> &'static [EventType] {
    use EventType::{BatchBroadcasted, BatchConfirmed, BatchFailed};
    let was_sent = matches!(before, BatchState::Broadcasted);
    match after {
        BatchState::Pending | BatchState::Signing => &[],
        BatchState::Broadcasted => &[BatchBroadcasted],
        BatchState::Confirmed if was_sent => &[BatchConfirmed],
        BatchState::Confirmed => &[BatchBroadcasted, BatchConfirmed],
        BatchState::Failed if has_paid && !was_sent => &[BatchBroadcasted, BatchFailed],
        BatchState::Failed => &[BatchFailed],
    }
}
