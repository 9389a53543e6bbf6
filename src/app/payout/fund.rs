//! Funding: deposits at an order's own address meet the order, under its row lock; and its
//! deadline.

use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

use super::{decide::look_at, order::locked};
use crate::{
    app::Gateway,
    asset::Fiat,
    deposit::BookedAs,
    invoice::deadline::{Sight, Watched, is_on_time},
    ledger::{Account, Entry, EntryKind},
    payout::{
        EventType, State,
        lifecycle::{self, Effect, Event, Verdict},
    },
    storage::{
        self, PgConnection, StorageError, alerts, cursors,
        deposits::{self, DepositRow, Owner, in_sight, of_order, returned},
        identity, ledger,
        payouts::{PayoutOrder, gas},
        timers,
    },
};

/// A held deadline is looked at again after half the time it has been held, within these bounds.
const LOOK_AGAIN_MIN: TimeDelta = TimeDelta::milliseconds(250);
const LOOK_AGAIN_MAX: TimeDelta = TimeDelta::seconds(30);
/// Deposits of an order that are read at once, and booked in one transaction.
const DEPOSITS_MAX: i64 = 100;

impl Gateway {
    /// Reports new deposits and books final ones. Amounts are summed from rows, never from
    /// messages.
    ///
    /// One look takes a batch of them, and asks for another look while there may be more: an
    /// address is open to everybody.
    pub(in crate::app) async fn fund_payout(
        &self,
        tx: &mut PgConnection,
        order_id: Uuid,
    ) -> Result<usize, StorageError> {
        let mut order = locked(tx, order_id).await?;
        let is_full_batch = |deposits: &[DepositRow]| {
            i64::try_from(deposits.len()).is_ok_and(|count| count >= DEPOSITS_MAX)
        };
        let mut is_full = false;
        if order.state == State::PendingDeposit {
            let (own, kind) = (order.currency, EventType::DepositDetected.as_str());
            let untold = of_order::untold(tx, order_id, own, kind, DEPOSITS_MAX).await?;
            is_full = is_full_batch(&untold);
            for deposit in untold {
                self.tell_seen(tx, &mut order, &deposit).await?;
            }
        }
        let deposits = of_order::lock_final(tx, order_id, DEPOSITS_MAX).await?;
        for deposit in &deposits {
            let own = is_own(&order, deposit);
            if own {
                self.tell_seen(tx, &mut order, deposit).await?;
            }
            self.settle_for_payout(tx, &mut order, deposit, own).await?;
        }
        is_full |= is_full_batch(&deposits);
        if is_full || !deposits.is_empty() && order.state != State::PendingDeposit {
            look_at(tx, order_id).await?;
        }
        Ok(deposits.len())
    }

    /// Repeating it is harmless: an event of one deposit is written once.
    async fn tell_seen(
        &self,
        tx: &mut PgConnection,
        order: &mut PayoutOrder,
        deposit: &DepositRow,
    ) -> Result<(), StorageError> {
        let now = storage::now(tx).await?;
        let step = lifecycle::step(&order.for_lifecycle(), Event::DepositSeen, now);
        if step.effects.is_empty() {
            return Ok(());
        }
        self.apply_decision(tx, order, &step, deposit.id).await
    }

    async fn settle_for_payout(
        &self,
        tx: &mut PgConnection,
        order: &mut PayoutOrder,
        deposit: &DepositRow,
        own: bool,
    ) -> Result<(), StorageError> {
        let Some(amount) = deposit.amount.filter(|_| own) else {
            // Our own gas is booked by the payment that brought it.
            if gas::fronted_by(tx, order.id, &deposit.tx_hash).await? {
                return deposits::settle(tx, deposit, BookedAs::Gas, Fiat::Usd).await;
            }
            return book_foreign(tx, order, deposit).await;
        };
        let entry = Entry {
            kind: EntryKind::PayoutDeposit,
            source: deposit.id,
            asset: order.currency.token_id(),
            debit: Account::Custody(order.currency.network),
            credit: Account::Payout(order.id),
            amount,
        };
        ledger::book(tx, &entry).await?;
        // It came back: the part that the order has counted all the while was missing only in the
        // books.
        let counted = match deposit.replaces {
            Some(_) => returned::counted_of_order(tx, deposit.id).await?,
            None => None,
        };
        let missing = counted.as_ref().map_or(amount, |(units, _)| amount.remaining_after(*units));
        if let Some((_, booked_as)) = counted.filter(|_| missing.is_zero()) {
            return deposits::settle(tx, deposit, booked_as, Fiat::Usd).await;
        }
        let now = storage::now(tx).await?;
        let on_time = is_on_time(order.expires_at, deposit.first_seen_at, deposit.mined_at);
        let event = Event::DepositConfirmed { amount: missing, on_time };
        let step = lifecycle::step(&order.for_lifecycle(), event, now);
        let mut booked_as = BookedAs::Nothing;
        for effect in &step.effects {
            match effect {
                Effect::Credit(units) => {
                    booked_as = BookedAs::Credit;
                    order.books.credited = order.books.credited.saturating_add(*units);
                }
                Effect::BookLate(units) => {
                    booked_as = BookedAs::Late;
                    order.books.late = order.books.late.saturating_add(*units);
                }
                Effect::Emit(_) | Effect::OpenFunding | Effect::Requote | Effect::Refund => {}
            }
        }
        deposits::settle(tx, deposit, booked_as, Fiat::Usd).await?;
        self.apply_decision(tx, order, &step, deposit.id).await?;
        if order.state == State::Funded {
            timers::set(tx, timers::PAYOUT, order.id, now).await?;
        }
        Ok(())
    }

    /// Decides the deadline of an order that is not funded. A message too early or twice decides
    /// nothing wrong.
    pub(super) async fn expire_payout(
        &self,
        tx: &mut PgConnection,
        order: &mut PayoutOrder,
    ) -> Result<(), StorageError> {
        let now = storage::now(tx).await?;
        let event = self.payout_deadline(tx, order, now).await?;
        let step = lifecycle::step(&order.for_lifecycle(), event, now);
        if step.verdict == Verdict::Moved {
            timers::clear(tx, timers::PAYOUT, order.id).await?;
            return self.apply_decision(tx, order, &step, Uuid::nil()).await;
        }
        let is_draft = order.state == State::Draft;
        let deadline = if is_draft { order.abandoned_at } else { order.expires_at };
        let due_at = if now < deadline {
            deadline
        } else {
            now + ((now - deadline) / 2).clamp(LOOK_AGAIN_MIN, LOOK_AGAIN_MAX)
        };
        timers::set(tx, timers::PAYOUT, order.id, due_at).await
    }

    async fn payout_deadline(
        &self,
        tx: &mut PgConnection,
        order: &PayoutOrder,
        now: DateTime<Utc>,
    ) -> Result<Event, StorageError> {
        let network = order.currency.network;
        let chain = self.config.chain(network);
        let deadline = order.expires_at;
        let cursor = cursors::load(tx, network).await?;
        let through = cursor.and_then(|cursor| cursor.watched_through);
        let watched = Watched { through, restored_at: identity::restored_at(tx).await? };
        let sight = Sight::of(deadline, now, watched, chain.watch_grace);
        let owner = Owner { invoice_id: None, payout_order_id: Some(order.id) };
        let (token, bounds) = (order.currency.token_id(), (deadline, now - chain.vanished_hold));
        let under_way = in_sight::in_time(tx, owner, (network, &token), bounds).await?;
        let in_sight = order.books.credited.saturating_add(under_way.sum);
        let waited = now - watched.waits_since(deadline);
        let may_hold =
            chain.patience().lasts(waited, under_way.is_any_mined, under_way.is_any_final);
        Ok(Event::DeadlinePassed { sight, in_sight, may_hold })
    }
}

/// Returns whether a deposit is of the order's asset on the order's network.
fn is_own(order: &PayoutOrder, deposit: &DepositRow) -> bool {
    deposit.network == order.currency.network
        && deposit.amount.is_some()
        && deposit.token_id.as_deref() == Some(order.currency.token_id().as_str())
}

/// Something else than the order's asset: kept apart for the merchant, and an operator is alerted.
async fn book_foreign(
    tx: &mut PgConnection,
    order: &PayoutOrder,
    deposit: &DepositRow,
) -> Result<(), StorageError> {
    let mut booked_as = BookedAs::Suspicious;
    if let (Some(asset), Some(amount)) = (deposit.token_id.clone(), deposit.amount) {
        let entry = Entry {
            kind: EntryKind::ForeignDeposit,
            source: deposit.id,
            asset,
            debit: Account::Custody(deposit.network),
            credit: Account::Foreign(order.merchant_id),
            amount,
        };
        ledger::book(tx, &entry).await?;
        booked_as = BookedAs::Foreign;
        let detail = format!("{} of {:?} at {}", deposit.tx_hash, deposit.token_id, order.order_id);
        alerts::raise(tx, "payout_foreign_deposit", &deposit.id.to_string(), &detail).await?;
    }
    deposits::settle(tx, deposit, booked_as, Fiat::Usd).await
}
