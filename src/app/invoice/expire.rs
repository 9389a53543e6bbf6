//! Deciding a deadline, under the same row lock as every deposit.

use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

use crate::app::{Gateway, operator::measure::count_transition};
use crate::{
    asset::Network,
    broker::route::Route,
    fail_point::fail_point,
    invoice::{
        deadline::{Sight, Watched},
        lifecycle::{self, Event, Verdict},
    },
    money::BaseUnits,
    storage::{
        self, PgConnection, StorageError, cursors,
        deposits::{
            Owner,
            in_sight::{self, UnderWay},
        },
        identity,
        invoices::{self, Invoice},
        timers,
    },
};

/// A held deadline is looked at again after half the time it has been held, within these bounds.
const LOOK_AGAIN_MIN: TimeDelta = TimeDelta::milliseconds(250);
const LOOK_AGAIN_MAX: TimeDelta = TimeDelta::seconds(30);

#[derive(Debug, thiserror::Error)]
pub enum ExpireError {
    /// The message names no invoice of ours. It can never be worked on.
    #[error("no such invoice")]
    UnknownInvoice,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Timers rung in one statement.
const RING_MAX: i64 = 500;

pub(crate) const NOTHING_UNDER_WAY: UnderWay =
    UnderWay { sum: BaseUnits::ZERO, is_any_mined: false, is_any_final: false };

impl Gateway {
    /// Puts a message into the outbox for every due timer, up to a bound. `true` if there may be
    /// more.
    pub async fn ring_timers(&self) -> Result<bool, StorageError> {
        let mut connection = self.db.connection().await?;
        let (invoice, payout) = (Route::Expiry.as_str(), Route::Payout.as_str());
        let rung = timers::ring_due(&mut connection, invoice, payout, RING_MAX).await?;
        if rung > 0 {
            self.relay_wake.notify_one();
        }
        Ok(i64::try_from(rung).is_ok_and(|rung| rung >= RING_MAX))
    }

    /// Decides whether `invoice_id` has expired. A message too early, twice or too late decides
    /// nothing wrong.
    pub async fn expire_invoice(&self, invoice_id: Uuid) -> Result<Verdict, ExpireError> {
        let mut tx = self.db.begin().await?;
        let invoice = invoices::lock(&mut tx, invoice_id).await?;
        let mut invoice = invoice.ok_or(ExpireError::UnknownInvoice)?;
        let before = invoice.view.status;
        // A payment that has all its confirmations must not lose to its own message being late.
        self.settle_final(&mut tx, &mut invoice, None).await?;
        let now = storage::now(&mut tx).await?;
        let event = self.deadline_event(&mut tx, &invoice, now).await?;
        let step = lifecycle::step(&invoice.for_lifecycle(), event);
        let outcome = self.carry_out(&mut tx, &mut invoice, &step, None).await?;
        match outcome.verdict {
            // The timer went with the end.
            Verdict::Moved => {}
            // Should one ring after the end nevertheless, it rings no more.
            Verdict::Kept | Verdict::Held(_) | Verdict::Refused(_)
                if invoice.view.status.is_terminal() =>
            {
                timers::clear(&mut tx, timers::INVOICE_DEADLINE, invoice_id).await?;
            }
            Verdict::Kept | Verdict::Held(_) | Verdict::Refused(_) => {
                let due_at = look_again_at(invoice.view.deadline, now);
                timers::set(&mut tx, timers::INVOICE_DEADLINE, invoice_id, due_at).await?;
            }
        }
        fail_point("expire_one.written");
        tx.commit().await.map_err(StorageError::from)?;
        fail_point("expire_one.committed");
        count_transition(Some(before), invoice.view.status);
        self.relay_wake.notify_one();
        Ok(outcome.verdict)
    }

    async fn deadline_event(
        &self,
        tx: &mut PgConnection,
        invoice: &Invoice,
        now: DateTime<Utc>,
    ) -> Result<Event, StorageError> {
        let Some(network) = invoice.network() else {
            return Ok(self.deadline_passed(invoice, Watched::default(), NOTHING_UNDER_WAY, now));
        };
        let cursor = cursors::load(tx, network).await?;
        let through = cursor.and_then(|cursor| cursor.watched_through);
        let watched = Watched { through, restored_at: identity::restored_at(tx).await? };
        let under_way = self.under_way(tx, invoice, network, now).await?;
        Ok(self.deadline_passed(invoice, watched, under_way, now))
    }

    /// Deposits of the invoice's own token that were in time and are not booked.
    async fn under_way(
        &self,
        tx: &mut PgConnection,
        invoice: &Invoice,
        network: Network,
        now: DateTime<Utc>,
    ) -> Result<UnderWay, StorageError> {
        let Some(token) = invoice.token_id.as_deref() else { return Ok(NOTHING_UNDER_WAY) };
        let owner = Owner { invoice_id: Some(invoice.id), payout_order_id: None };
        let vanished_after = now - self.config.chain(network).vanished_hold;
        let bounds = (invoice.view.deadline, vanished_after);
        in_sight::in_time(tx, owner, (network, token), bounds).await
    }

    /// `watched` is of the invoice's network.
    pub(crate) fn deadline_passed(
        &self,
        invoice: &Invoice,
        watched: Watched,
        under_way: UnderWay,
        now: DateTime<Utc>,
    ) -> Event {
        let in_sight = invoice.credited.saturating_add(under_way.sum);
        let Some(network) = invoice.network() else {
            // Nothing can arrive for a draft, so there is nothing to have looked for.
            let sight = Sight::Complete;
            return Event::DeadlinePassed { now, sight, in_sight, may_hold: false };
        };
        let (chain, deadline) = (self.config.chain(network), invoice.view.deadline);
        let sight = Sight::of(deadline, now, watched, chain.watch_grace);
        let waited = now - watched.waits_since(deadline);
        let may_hold =
            chain.patience().lasts(waited, under_way.is_any_mined, under_way.is_any_final);
        Event::DeadlinePassed { now, sight, in_sight, may_hold }
    }
}

pub(crate) fn look_again_at(deadline: DateTime<Utc>, now: DateTime<Utc>) -> DateTime<Utc> {
    if now < deadline {
        return deadline;
    }
    now + ((now - deadline) / 2).clamp(LOOK_AGAIN_MIN, LOOK_AGAIN_MAX)
}
