//! Lifecycle of a subscription: the one place where its state changes, and where a reminder is
//! decided.
//!
//! [`step`] is total. All times are dates of the calendar ([`super::clock`]).

use chrono::{DateTime, TimeDelta, Utc};

use super::{State, calendar::Period};

/// Days of the reminders, relative to the renewal (spec, "When IPNs fire").
pub const FIRST_REMINDER: i8 = -3;
pub const LAST_REMINDER: i8 = 3;

/// Facts of a subscription that the rules need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Subscription {
    pub state: State,
    /// The first payment; before it the start of the subscription.
    pub anchor: DateTime<Utc>,
    pub period: Period,
    /// The newest cycle that a payment covers, 0 before the first one.
    pub covered: u32,
    /// Number of payments.
    pub payments: u32,
    /// Payments after which it ends; `None` for one without an end.
    pub payments_max: Option<u32>,
    /// Day of the last reminder about the coming renewal.
    pub reminded: Option<i8>,
}

/// An event of a subscription, with the date of its decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// An invoice of it was paid in full.
    Paid {
        at: DateTime<Utc>,
    },
    /// Its timer fired.
    TimerFired {
        at: DateTime<Utc>,
    },
    CancelRequested,
}

/// Action that must happen together with the new state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// A reminder of this day.
    Remind(i8),
    Tell(Told),
}

/// Changes that the feed of events tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    Started,
    Renewed,
    PastDue,
    Cancelled,
    Ended,
}

/// Reason for the state after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Moved,
    Kept,
    Refused(Refusal),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    AlreadyOver,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub subscription: Subscription,
    pub verdict: Verdict,
    pub effects: Vec<Effect>,
}

impl Subscription {
    /// The end of the last covered cycle: the date on which the next payment is due. Before the
    /// first payment the end of the first cycle.
    pub fn next_renewal(&self) -> DateTime<Utc> {
        let end = self.period.renewal(self.anchor, self.covered.max(1));
        end.unwrap_or(DateTime::<Utc>::MAX_UTC)
    }

    /// The cycle that the next payment pays, unless it comes so late that it skips some.
    pub const fn next_cycle(&self) -> u32 {
        self.covered.saturating_add(1)
    }

    /// True if the last payment was made: nothing is due after it but the end.
    fn is_paid_up(&self) -> bool {
        self.payments_max.is_some_and(|max| self.payments >= max)
    }

    /// True while its subscriber may open an invoice.
    pub fn is_payable(&self) -> bool {
        match self.state {
            State::Pending | State::Active | State::PastDue => !self.is_paid_up(),
            State::Cancelled | State::Ended => false,
        }
    }

    /// The end of the cycle that the next payment pays, unless it comes so late that it skips some.
    pub fn next_cycle_end(&self) -> DateTime<Utc> {
        let end = self.period.renewal(self.anchor, self.next_cycle());
        end.unwrap_or(DateTime::<Utc>::MAX_UTC)
    }

    /// The date on which [`Event::TimerFired`] decides something; `None` if nothing is due.
    pub fn next_due(&self) -> Option<DateTime<Utc>> {
        match self.state {
            State::Active if self.is_paid_up() => Some(self.next_renewal()),
            State::Active => self.next_reminder().map(|(_, date)| date),
            State::Pending | State::PastDue | State::Cancelled | State::Ended => None,
        }
    }

    fn next_reminder(&self) -> Option<(i8, DateTime<Utc>)> {
        let day = self.reminded.map_or(FIRST_REMINDER, |day| day.saturating_add(1));
        let date = self.reminder_date(day);
        date.filter(|_| day <= LAST_REMINDER).map(|date| (day, date))
    }

    fn reminder_date(&self, day: i8) -> Option<DateTime<Utc>> {
        self.next_renewal().checked_add_signed(TimeDelta::days(i64::from(day)))
    }

    /// The newest day of the coming renewal's reminders that is over at `at`.
    fn day_over_at(&self, at: DateTime<Utc>) -> Option<i8> {
        let is_over = |day: &i8| self.reminder_date(*day).is_some_and(|date| date <= at);
        (FIRST_REMINDER..=LAST_REMINDER).rev().find(is_over)
    }
}

/// Computes the new state of a subscription and the actions for `event`.
pub fn step(subscription: &Subscription, event: Event) -> Step {
    match event {
        Event::Paid { at } => pay(*subscription, at),
        Event::TimerFired { at } => remind(*subscription, at),
        Event::CancelRequested => cancel(*subscription),
    }
}

/// A payment covers the period that it falls in, and at least one more cycle than before: who pays
/// early pays the next, and who pays months late owes nothing for the cycles between.
fn pay(mut subscription: Subscription, at: DateTime<Utc>) -> Step {
    let (state, told) = match subscription.state {
        State::Pending => (State::Active, Some(Told::Started)),
        State::Active | State::PastDue => (State::Active, Some(Told::Renewed)),
        // Its money counts, and the period is covered; it stays over.
        over @ (State::Cancelled | State::Ended) => (over, None),
    };
    subscription.state = state;
    let present = match subscription.covered {
        // The first payment is where the calendar begins.
        0 => {
            subscription.anchor = at;
            1
        }
        _ => subscription.period.cycle_at(subscription.anchor, at),
    };
    subscription.covered = present.max(subscription.next_cycle());
    subscription.payments = subscription.payments.saturating_add(1);
    // Who paid yesterday is not reminded of the days before.
    subscription.reminded = subscription.day_over_at(at);
    match told {
        Some(told) => moved(subscription, vec![Effect::Tell(told)]),
        None => kept(subscription, Vec::new()),
    }
}

/// One reminder for each day, also if several days have passed: each says its own.
fn remind(mut subscription: Subscription, at: DateTime<Utc>) -> Step {
    if subscription.next_due().is_none_or(|due| at < due) {
        return kept(subscription, Vec::new());
    }
    if subscription.is_paid_up() {
        subscription.state = State::Ended;
        return moved(subscription, vec![Effect::Tell(Told::Ended)]);
    }
    let Some((day, _)) = subscription.next_reminder() else {
        return kept(subscription, Vec::new());
    };
    subscription.reminded = Some(day);
    if day < LAST_REMINDER {
        return kept(subscription, vec![Effect::Remind(day)]);
    }
    subscription.state = State::PastDue;
    moved(subscription, vec![Effect::Remind(day), Effect::Tell(Told::PastDue)])
}

fn cancel(mut subscription: Subscription) -> Step {
    match subscription.state {
        State::Pending | State::Active | State::PastDue => {
            subscription.state = State::Cancelled;
            moved(subscription, vec![Effect::Tell(Told::Cancelled)])
        }
        State::Cancelled | State::Ended => Step {
            subscription,
            verdict: Verdict::Refused(Refusal::AlreadyOver),
            effects: Vec::new(),
        },
    }
}

const fn kept(subscription: Subscription, effects: Vec<Effect>) -> Step {
    Step { subscription, verdict: Verdict::Kept, effects }
}

const fn moved(subscription: Subscription, effects: Vec<Effect>) -> Step {
    Step { subscription, verdict: Verdict::Moved, effects }
}

#[cfg(test)]
#[path = "lifecycle_tests.rs"]
mod tests;
