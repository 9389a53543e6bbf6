//! Lifecycle of an order: the one place where its state changes (spec, "Mass-payout webhooks" and
//! Rules 6).
//!
//! [`step`] is total, as the invoice's is: an event that cannot change a state leaves it and gives
//! the reason. Further actions are returned as data.

use chrono::{DateTime, Utc};

use super::{EventType, Funding, State};
use crate::{invoice::deadline::Sight, money::BaseUnits, vocabulary::vocabulary};

/// Facts of an order that the rules need.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    pub state: State,
    pub funding: Funding,
    /// Amount due, `totalToSendRaw`.
    pub due: BaseUnits,
    /// Amount received in time and confirmed before this event.
    pub credited: BaseUnits,
    /// End of the quote for a draft, of the funding window from then on.
    pub expires_at: DateTime<Utc>,
    /// Time at which an unconfirmed draft is dropped.
    pub abandoned_at: DateTime<Utc>,
    /// No payment of its rows was ever signed: all that came in can still go back.
    pub nothing_signed: bool,
}

/// An event of an order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    ConfirmRequested,
    RefreshRequested,
    /// A funded order got a new price, which is `due` now.
    Requoted,
    CancelRequested,
    /// A deposit of the order's asset was seen for the first time, confirmed or not.
    DepositSeen,
    /// The deposit has the confirmations of its network.
    DepositConfirmed {
        amount: BaseUnits,
        on_time: bool,
    },
    /// The timer fired. `in_sight` is the amount received in time if all unconfirmed deposits
    /// confirm.
    DeadlinePassed {
        sight: Sight,
        in_sight: BaseUnits,
        may_hold: bool,
    },
    /// The first transaction is about to be signed.
    SendingBegins,
    /// No batch is open any more.
    BatchesEnded {
        any_failed: bool,
    },
}

vocabulary! {
    pub enum CancelledBy: "canceller of a payout order" {
        Merchant = "merchant",
        Operator = "operator",
    }
}

/// Action that must happen together with the new state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    Emit(EventType),
    /// The amount belongs to the order.
    Credit(BaseUnits),
    /// The amount came too late to pay for anything; it is refunded.
    BookLate(BaseUnits),
    /// The order gets its address and its funding window starts.
    OpenFunding,
    /// Prices are looked up again.
    Requote,
    /// Refunds everything that the order holds and does not owe.
    Refund,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Moved,
    Kept,
    Held(Hold),
    Refused(Refusal),
}

/// Reason why a deadline is not decided yet. The timer fires again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hold {
    WatcherBehind,
    DepositConfirming,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The order is past the state in which this can be asked for.
    InvalidState,
    QuoteExpired,
    DepositDetected,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    pub state: State,
    pub funding: Funding,
    pub verdict: Verdict,
    pub effects: Vec<Effect>,
}

/// Computes the new state of an order when `event` reaches it at `now`.
pub fn step(order: &Order, event: Event, now: DateTime<Utc>) -> Step {
    match event {
        Event::ConfirmRequested => confirm(order, now),
        Event::RefreshRequested => refresh(order, now),
        Event::Requoted => requoted(order),
        Event::CancelRequested => cancel(order),
        Event::DepositSeen => see(order),
        Event::DepositConfirmed { amount, on_time } => credit(order, amount, on_time),
        Event::DeadlinePassed { sight, in_sight, may_hold } => {
            expire(order, sight, in_sight, may_hold, now)
        }
        Event::SendingBegins => begin(order),
        Event::BatchesEnded { any_failed } => end(order, any_failed),
    }
}

fn confirm(order: &Order, now: DateTime<Utc>) -> Step {
    match order.state {
        State::Draft if now >= order.expires_at => refused(order, Refusal::QuoteExpired),
        State::Draft => moved(
            order,
            State::PendingDeposit,
            vec![Effect::OpenFunding, Effect::Emit(EventType::Created)],
        ),
        // Requested again because the response was lost; the order may have progressed since.
        State::PendingDeposit
        | State::Funded
        | State::Processing
        | State::Completed
        | State::PartialFailed => kept(order, vec![]),
        State::Expired | State::Cancelled => refused(order, Refusal::InvalidState),
    }
}

fn refresh(order: &Order, now: DateTime<Utc>) -> Step {
    let requote = vec![Effect::Requote, Effect::Emit(EventType::QuoteRefreshed)];
    match order.state {
        State::Draft if now >= order.abandoned_at => refused(order, Refusal::InvalidState),
        State::Draft => kept(order, requote),
        State::PendingDeposit if order.funding != Funding::None => {
            refused(order, Refusal::DepositDetected)
        }
        // From the deadline on, expiry decides: only it knows if a payment came in time.
        State::PendingDeposit if now >= order.expires_at => refused(order, Refusal::InvalidState),
        State::PendingDeposit => kept(order, requote),
        // The network asks more than was quoted, and would for ever: a new quote asks for the
        // difference.
        State::Processing if order.nothing_signed => kept(order, vec![Effect::Requote]),
        State::Funded
        | State::Processing
        | State::Completed
        | State::PartialFailed
        | State::Expired
        | State::Cancelled => refused(order, Refusal::InvalidState),
    }
}

fn requoted(order: &Order) -> Step {
    let refreshed = vec![Effect::Emit(EventType::QuoteRefreshed)];
    match order.state {
        State::Processing if order.nothing_signed && order.credited < order.due => {
            Step { funding: Funding::Underfunded, ..moved(order, State::PendingDeposit, refreshed) }
        }
        State::Processing if order.nothing_signed => {
            let funding =
                if order.credited > order.due { Funding::Overfunded } else { Funding::Exact };
            Step { funding, ..moved(order, State::Funded, refreshed) }
        }
        State::Draft
        | State::PendingDeposit
        | State::Funded
        | State::Processing
        | State::Completed
        | State::PartialFailed
        | State::Expired
        | State::Cancelled => refused(order, Refusal::InvalidState),
    }
}

fn cancel(order: &Order) -> Step {
    let cancelled = || {
        let effects = vec![Effect::Emit(EventType::Cancelled), Effect::Refund];
        moved(order, State::Cancelled, effects)
    };
    match order.state {
        State::Draft | State::PendingDeposit | State::Funded => cancelled(),
        State::Processing if order.nothing_signed => cancelled(),
        State::Cancelled => kept(order, vec![]),
        State::Processing | State::Completed | State::PartialFailed | State::Expired => {
            refused(order, Refusal::InvalidState)
        }
    }
}

fn see(order: &Order) -> Step {
    match order.state {
        State::PendingDeposit => {
            let funding = match order.funding {
                Funding::None => Funding::Detected,
                Funding::Detected | Funding::Underfunded | Funding::Exact | Funding::Overfunded => {
                    order.funding
                }
            };
            let effects = vec![Effect::Emit(EventType::DepositDetected)];
            Step { funding, ..kept(order, effects) }
        }
        // Unexpected money: there is no event for it; it is refunded once confirmed.
        State::Draft
        | State::Funded
        | State::Processing
        | State::Completed
        | State::PartialFailed
        | State::Expired
        | State::Cancelled => kept(order, vec![]),
    }
}

fn credit(order: &Order, amount: BaseUnits, on_time: bool) -> Step {
    match order.state {
        State::PendingDeposit if on_time => fund(order, amount),
        // Part of the funding left the chain, and has come back or been replaced.
        State::Funded | State::Processing if on_time && !exceeds(order, amount) => {
            kept(order, vec![Effect::Credit(amount)])
        }
        State::Funded | State::Processing if on_time => {
            let effects = match order.funding {
                Funding::Overfunded => vec![Effect::Credit(amount)],
                Funding::None | Funding::Detected | Funding::Underfunded | Funding::Exact => {
                    vec![Effect::Credit(amount), Effect::Emit(EventType::Overfunded)]
                }
            };
            Step { funding: Funding::Overfunded, ..kept(order, effects) }
        }
        State::PendingDeposit | State::Funded | State::Processing => {
            kept(order, vec![Effect::BookLate(amount)])
        }
        State::Completed | State::PartialFailed | State::Expired | State::Cancelled => {
            kept(order, vec![Effect::BookLate(amount), Effect::Refund])
        }
        // A draft has no address, so it cannot receive a deposit.
        State::Draft => kept(order, vec![]),
    }
}

/// Returns true if the order has received more than due once `amount` is added.
fn exceeds(order: &Order, amount: BaseUnits) -> bool {
    order.credited.checked_add(amount).is_none_or(|total| total > order.due)
}

fn fund(order: &Order, amount: BaseUnits) -> Step {
    // Two sums of 128 bits can only overflow by attack; the sum then certainly exceeds any amount
    // due.
    let total = order.credited.saturating_add(amount);
    let credit = Effect::Credit(amount);
    if total < order.due {
        let effects = vec![credit, Effect::Emit(EventType::Underfunded)];
        return Step { funding: Funding::Underfunded, ..kept(order, effects) };
    }
    if total == order.due {
        let funded = moved(order, State::Funded, vec![credit]);
        return Step { funding: Funding::Exact, ..funded };
    }
    let effects = vec![credit, Effect::Emit(EventType::Overfunded)];
    Step { funding: Funding::Overfunded, ..moved(order, State::Funded, effects) }
}

fn expire(
    order: &Order,
    sight: Sight,
    in_sight: BaseUnits,
    may_hold: bool,
    now: DateTime<Utc>,
) -> Step {
    match order.state {
        State::Draft if now < order.abandoned_at => kept(order, vec![]),
        // Never confirmed, so no event has announced it.
        State::Draft => moved(order, State::Expired, vec![]),
        State::PendingDeposit if now < order.expires_at => kept(order, vec![]),
        State::PendingDeposit if sight == Sight::Behind => held(order, Hold::WatcherBehind),
        State::PendingDeposit if may_hold && in_sight >= order.due => {
            held(order, Hold::DepositConfirming)
        }
        State::PendingDeposit => {
            let effects = vec![Effect::Emit(EventType::Expired), Effect::Refund];
            moved(order, State::Expired, effects)
        }
        State::Funded
        | State::Processing
        | State::Completed
        | State::PartialFailed
        | State::Expired
        | State::Cancelled => kept(order, vec![]),
    }
}

fn begin(order: &Order) -> Step {
    match order.state {
        State::Funded => moved(order, State::Processing, vec![]),
        State::Processing => kept(order, vec![]),
        State::Draft
        | State::PendingDeposit
        | State::Completed
        | State::PartialFailed
        | State::Expired
        | State::Cancelled => refused(order, Refusal::InvalidState),
    }
}

fn end(order: &Order, any_failed: bool) -> Step {
    match order.state {
        State::Processing if any_failed => moved(
            order,
            State::PartialFailed,
            vec![Effect::Emit(EventType::PartialFailed), Effect::Refund],
        ),
        State::Processing => {
            moved(order, State::Completed, vec![Effect::Emit(EventType::Completed), Effect::Refund])
        }
        State::Completed | State::PartialFailed => kept(order, vec![]),
        State::Draft
        | State::PendingDeposit
        | State::Funded
        | State::Expired
        | State::Cancelled => refused(order, Refusal::InvalidState),
    }
}

fn moved(order: &Order, state: State, effects: Vec<Effect>) -> Step {
    Step { state, funding: order.funding, verdict: Verdict::Moved, effects }
}

fn kept(order: &Order, effects: Vec<Effect>) -> Step {
    Step { state: order.state, funding: order.funding, verdict: Verdict::Kept, effects }
}

fn held(order: &Order, hold: Hold) -> Step {
    Step {
        state: order.state,
        funding: order.funding,
        verdict: Verdict::Held(hold),
        effects: vec![],
    }
}

fn refused(order: &Order, refusal: Refusal) -> Step {
    let (state, funding) = (order.state, order.funding);
    Step { state, funding, verdict: Verdict::Refused(refusal), effects: vec![] }
}

#[cfg(test)]
#[path = "lifecycle_tests.rs"]
mod tests;
