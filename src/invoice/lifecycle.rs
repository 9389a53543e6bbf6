//! Lifecycle of an invoice: the one place where a status changes (spec, "Transitions").
//!
//! [`step`] is total. An event that cannot change a status leaves it and gives the reason, so a
//! lost, duplicate or reordered message changes no outcome. Further actions are returned as data;
//! `app` carries them out in the transaction that stores the status.

use chrono::{DateTime, Utc};

use super::{deadline::Sight, vocabulary::Status};
use crate::{
    merchant::settings::{Underpay, UnderpayWhen},
    money::{BaseUnits, Bps},
};

/// Facts of an invoice that the rules need.
#[derive(Clone, Copy, Debug)]
pub struct Invoice {
    pub status: Status,
    /// Amount due. Zero for a draft.
    pub due: BaseUnits,
    /// Amount received in time and confirmed before this event.
    pub credited: BaseUnits,
    pub overpay_tolerance: Bps,
    pub underpay: Underpay,
    /// The end of the payment window, or of the selection window of a draft.
    pub deadline: DateTime<Utc>,
}

impl Invoice {
    /// Returns true if `total` pays the invoice once nothing more comes: something arrived, and
    /// what is missing is within the tolerance.
    pub fn accepts(&self, total: BaseUnits) -> bool {
        total > BaseUnits::ZERO && self.underpay.tolerance.reached_by(self.due, total)
    }

    /// Returns true if its deadline may make it paid: what was booked suffices, if nothing more is
    /// on its way.
    pub fn may_end_paid(&self) -> bool {
        self.status == Status::Partial && self.accepts(self.credited)
    }
}

/// An event of an invoice. Time-dependent events have the time of their decision, by the database's
/// clock; a deposit states if it came in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The buyer picked a currency for a draft.
    CurrencyPicked { now: DateTime<Utc> },
    /// The buyer of a resolved draft picked another currency. `seen`: a deposit is known, confirmed
    /// or not.
    CurrencyChanged { now: DateTime<Utc>, seen: bool },
    /// A deposit of the invoice's own token has the confirmations its network asks for.
    DepositConfirmed { amount: BaseUnits, on_time: bool },
    /// A confirmed deposit of another token arrived at the invoice's address.
    ForeignDeposit(Foreign),
    /// A credited deposit was removed from the chain by a reorg.
    CreditReversed { amount: BaseUnits },
    /// The timer fired. `in_sight` is the amount received in time if all unconfirmed deposits
    /// confirm.
    DeadlinePassed { now: DateTime<Utc>, sight: Sight, in_sight: BaseUnits, may_hold: bool },
    /// The buyer or the merchant cancels. `seen`: a deposit is known, confirmed or not.
    CancelRequested { now: DateTime<Utc>, seen: bool },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Foreign {
    /// A token of our catalogue, but not the requested one.
    WrongToken,
    /// An unknown contract, or an amount that no honest token has.
    SuspiciousToken,
}

/// Action that must happen together with the new status.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    SendIpn(Ipn),
    SendNotice(Notice),
    /// The deposit belongs to the merchant.
    Credit(BaseUnits),
    /// Revokes the credit of a deposit that vanished.
    TakeBack(BaseUnits),
    /// The deposit came after the end; it is booked separately and changes no status.
    BookLate(BaseUnits),
    /// Moves the part above the amount due from the merchant to the treasury.
    RouteExcess(BaseUnits),
}

/// IPNs of a transition (spec, "When IPNs fire").
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ipn {
    Finished,
    Expired,
}

/// Informational IPNs: they report a deposit, never a status.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Notice {
    WrongToken,
    SuspiciousToken,
    LateDeposit,
}

/// Reason for the status after a step.
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
    PaymentConfirming,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    AlreadyEnded,
    NotADraft,
    WindowClosed,
    DepositSeen,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    pub status: Status,
    pub verdict: Verdict,
    pub effects: Vec<Effect>,
}

/// Computes the new status of an invoice and the actions for `event`.
pub fn step(invoice: &Invoice, event: Event) -> Step {
    match event {
        Event::CurrencyPicked { now } => pick(invoice, now),
        Event::CurrencyChanged { now, seen } => change(invoice, seen, now),
        Event::DepositConfirmed { amount, on_time } => credit(invoice, amount, on_time),
        Event::ForeignDeposit(foreign) => {
            let notice = match foreign {
                Foreign::WrongToken => Notice::WrongToken,
                Foreign::SuspiciousToken => Notice::SuspiciousToken,
            };
            keep(invoice, vec![Effect::SendNotice(notice)])
        }
        Event::CreditReversed { amount } => take_back(invoice, amount),
        Event::DeadlinePassed { now, sight, in_sight, may_hold } => {
            expire(invoice, sight, in_sight, may_hold, now)
        }
        Event::CancelRequested { now, seen } => cancel(invoice, seen, now),
    }
}

fn pick(invoice: &Invoice, now: DateTime<Utc>) -> Step {
    match invoice.status {
        Status::Draft if now < invoice.deadline => moved(Status::Pending, vec![]),
        Status::Draft => refused(invoice, Refusal::WindowClosed),
        Status::Pending | Status::Partial => refused(invoice, Refusal::NotADraft),
        Status::Paid | Status::Overpaid | Status::Expired | Status::Cancelled => {
            refused(invoice, Refusal::AlreadyEnded)
        }
    }
}

/// Another currency has another amount, so what was seen of the first one could not be counted.
fn change(invoice: &Invoice, seen: bool, now: DateTime<Utc>) -> Step {
    match invoice.status {
        Status::Draft => pick(invoice, now),
        Status::Pending if seen => refused(invoice, Refusal::DepositSeen),
        Status::Pending if now >= invoice.deadline => refused(invoice, Refusal::WindowClosed),
        Status::Pending => keep(invoice, vec![]),
        Status::Partial => refused(invoice, Refusal::DepositSeen),
        Status::Paid | Status::Overpaid | Status::Expired | Status::Cancelled => {
            refused(invoice, Refusal::AlreadyEnded)
        }
    }
}

fn credit(invoice: &Invoice, amount: BaseUnits, on_time: bool) -> Step {
    match invoice.status {
        Status::Pending | Status::Partial if on_time => credit_open(invoice, amount),
        Status::Pending
        | Status::Partial
        | Status::Paid
        | Status::Overpaid
        | Status::Expired
        | Status::Cancelled => {
            let late = vec![Effect::BookLate(amount), Effect::SendNotice(Notice::LateDeposit)];
            keep(invoice, late)
        }
        // A draft has no address, so it cannot receive a deposit.
        Status::Draft => keep(invoice, vec![]),
    }
}

fn credit_open(invoice: &Invoice, amount: BaseUnits) -> Step {
    let total = invoice.credited.saturating_add(amount);
    let mut effects = vec![Effect::Credit(amount)];
    if total < invoice.due {
        if invoice.underpay.when == UnderpayWhen::AtOnce && invoice.accepts(total) {
            effects.push(Effect::SendIpn(Ipn::Finished));
            return moved(Status::Paid, effects);
        }
        let verdict =
            if invoice.status == Status::Partial { Verdict::Kept } else { Verdict::Moved };
        return Step { status: Status::Partial, verdict, effects };
    }
    effects.push(Effect::SendIpn(Ipn::Finished));
    // The spec names totals that match and totals beyond `overpayBps`, not those between: they are
    // paid.
    if !invoice.overpay_tolerance.exceeded_by(invoice.due, total) {
        return moved(Status::Paid, effects);
    }
    effects.push(Effect::RouteExcess(total.remaining_after(invoice.due)));
    moved(Status::Overpaid, effects)
}

/// The status stays (spec, Rules 2): no transition leads back. An invoice that is still open must
/// nevertheless be paid in full.
fn take_back(invoice: &Invoice, amount: BaseUnits) -> Step {
    match invoice.status {
        Status::Pending | Status::Partial => keep(invoice, vec![Effect::TakeBack(amount)]),
        Status::Draft | Status::Paid | Status::Overpaid | Status::Expired | Status::Cancelled => {
            keep(invoice, vec![])
        }
    }
}

fn expire(
    invoice: &Invoice,
    sight: Sight,
    in_sight: BaseUnits,
    may_hold: bool,
    now: DateTime<Utc>,
) -> Step {
    let expired = || moved(Status::Expired, vec![Effect::SendIpn(Ipn::Expired)]);
    match invoice.status {
        // The timer may be older than a window that was moved since.
        Status::Draft | Status::Pending | Status::Partial if now < invoice.deadline => {
            keep(invoice, vec![])
        }
        Status::Draft => expired(),
        Status::Pending | Status::Partial if sight == Sight::Behind => {
            held(invoice, Hold::WatcherBehind)
        }
        Status::Pending | Status::Partial if may_hold && in_sight >= invoice.due => {
            held(invoice, Hold::PaymentConfirming)
        }
        // The rest did not come. What did come was booked already.
        Status::Pending | Status::Partial if invoice.accepts(invoice.credited) => {
            moved(Status::Paid, vec![Effect::SendIpn(Ipn::Finished)])
        }
        Status::Pending | Status::Partial if may_hold && invoice.accepts(in_sight) => {
            held(invoice, Hold::PaymentConfirming)
        }
        Status::Pending | Status::Partial => expired(),
        Status::Paid | Status::Overpaid | Status::Expired | Status::Cancelled => {
            keep(invoice, vec![])
        }
    }
}

fn cancel(invoice: &Invoice, seen: bool, now: DateTime<Utc>) -> Step {
    match invoice.status {
        Status::Draft | Status::Pending if seen => refused(invoice, Refusal::DepositSeen),
        // From the deadline on, expiry decides: only it knows if a payment came in time.
        Status::Draft | Status::Pending if now >= invoice.deadline => {
            refused(invoice, Refusal::WindowClosed)
        }
        Status::Draft | Status::Pending => moved(Status::Cancelled, vec![]),
        Status::Partial => refused(invoice, Refusal::DepositSeen),
        Status::Paid | Status::Overpaid | Status::Expired | Status::Cancelled => {
            refused(invoice, Refusal::AlreadyEnded)
        }
    }
}

fn moved(status: Status, effects: Vec<Effect>) -> Step {
    Step { status, verdict: Verdict::Moved, effects }
}

fn keep(invoice: &Invoice, effects: Vec<Effect>) -> Step {
    Step { status: invoice.status, verdict: Verdict::Kept, effects }
}

fn held(invoice: &Invoice, hold: Hold) -> Step {
    Step { status: invoice.status, verdict: Verdict::Held(hold), effects: vec![] }
}

fn refused(invoice: &Invoice, refusal: Refusal) -> Step {
    Step { status: invoice.status, verdict: Verdict::Refused(refusal), effects: vec![] }
}

#[cfg(test)]
#[path = "lifecycle_tests.rs"]
mod tests;
