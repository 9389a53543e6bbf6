//! The whole state × event product as one table, and the reminders of a year.

use std::fmt::Write as _;

use expect_test::expect_file;
use proptest::prelude::*;

use super::*;
use crate::subscription::Interval;

fn at(day: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_700_000_000 + day * 86_400, 0).unwrap()
}

/// Every ten days from day 0; the first cycle is paid, so the renewal is on day 10.
fn subscription(state: State) -> Subscription {
    let started = state != State::Pending;
    Subscription {
        state,
        anchor: at(0),
        period: Period::new(Interval::Day, 10).unwrap(),
        covered: u32::from(started),
        payments: u32::from(started),
        payments_max: None,
        reminded: (state == State::PastDue).then_some(3),
    }
}

fn line(before: &Subscription, name: &str, event: Event) -> String {
    let step = step(before, event);
    let after = step.subscription;
    let verdict = match step.verdict {
        Verdict::Moved => format!("-> {}", after.state),
        Verdict::Kept => "kept".to_owned(),
        Verdict::Refused(refusal) => format!("refused: {refusal:?}"),
    };
    let effects: Vec<_> = step.effects.iter().map(|effect| format!("{effect:?}")).collect();
    let due = after.next_due().map(|due| (due - at(0)).num_days().to_string());
    format!(
        "{:9} | {name:24} | {verdict:21} | covers {} | due {:3} | {}",
        before.state.as_str(),
        after.covered,
        due.unwrap_or_default(),
        effects.join(", ")
    )
}

#[test]
fn the_state_by_event_product_of_the_lifecycle() {
    let mut table = String::new();
    for state in State::ALL {
        let before = subscription(state);
        for (name, event) in [
            ("paid early, day 8", Event::Paid { at: at(8) }),
            ("paid in time, day 10", Event::Paid { at: at(10) }),
            ("paid in the next period", Event::Paid { at: at(15) }),
            ("paid three periods late", Event::Paid { at: at(45) }),
            ("timer, day 6", Event::TimerFired { at: at(6) }),
            ("timer, day 7", Event::TimerFired { at: at(7) }),
            ("timer, day 30", Event::TimerFired { at: at(30) }),
            ("cancel", Event::CancelRequested),
        ] {
            writeln!(table, "{}", line(&before, name, event).trim_end()).unwrap();
        }
    }
    let last = Subscription { payments_max: Some(1), ..subscription(State::Active) };
    for (name, day) in [("last cycle, day 7", 7), ("last cycle, day 10", 10)] {
        let event = Event::TimerFired { at: at(day) };
        writeln!(table, "{}", line(&last, name, event).trim_end()).unwrap();
    }
    let sixth = Subscription { reminded: Some(2), ..subscription(State::Active) };
    for (name, day) in [("reminded on +2, day 12", 12), ("reminded on +2, day 13", 13)] {
        let event = Event::TimerFired { at: at(day) };
        writeln!(table, "{}", line(&sixth, name, event).trim_end()).unwrap();
    }
    expect_file!["lifecycle_table.txt"].assert_eq(&table);
}

/// Days of all reminders, and the state, when timers fire every `every` days until `until`.
fn watched(subscription: &mut Subscription, from: i64, until: i64, every: usize) -> Vec<i8> {
    let mut reminders = Vec::new();
    for day in (from..=until).step_by(every) {
        while subscription.next_due().is_some_and(|due| due <= at(day)) {
            let step = step(subscription, Event::TimerFired { at: at(day) });
            reminders.extend(step.effects.iter().filter_map(|effect| match effect {
                Effect::Remind(day) => Some(*day),
                Effect::Tell(_) => None,
            }));
            *subscription = step.subscription;
        }
    }
    reminders
}

#[test]
fn seven_reminders_come_once_each_in_order_also_after_an_outage() {
    let all: Vec<i8> = (-3..=3).collect();
    for every in [1, 2, 5, 30] {
        let mut subscription = subscription(State::Active);
        assert_eq!(watched(&mut subscription, 0, 60, every), all, "every {every} days");
        assert_eq!(subscription.state, State::PastDue);
    }
    // A payment ends the reminders, and the next ones belong to the next renewal.
    let mut subscription = subscription(State::Active);
    assert_eq!(watched(&mut subscription, 0, 9, 1), [-3, -2, -1]);
    subscription = step(&subscription, Event::Paid { at: at(9) }).subscription;
    assert_eq!(subscription.next_renewal(), at(20));
    assert_eq!(watched(&mut subscription, 9, 16, 1), Vec::<i8>::new());
    assert_eq!(watched(&mut subscription, 17, 60, 1), all);
    // Paid months late and a day before the next renewal: the two days before are not told.
    subscription = step(&subscription, Event::Paid { at: at(98) }).subscription;
    assert_eq!(subscription.next_renewal(), at(100));
    assert_eq!(watched(&mut subscription, 98, 200, 1), [-1, 0, 1, 2, 3]);
}

proptest! {
    /// Whatever happens in whatever order: a payment always covers the moment at which it is made,
    /// covered cycles only grow while it lasts, and no day is reminded of twice.
    #[test]
    fn any_history_is_sound(events in prop::collection::vec((0_u8..30, 1_i64..25), 1..60)) {
        let (mut subscription, mut now) = (subscription(State::Pending), 0);
        let mut sent = std::collections::BTreeSet::new();
        for (kind, later) in events {
            now += later;
            let before = subscription;
            let event = match kind {
                0..=9 => Event::Paid { at: at(now) },
                10..=28 => Event::TimerFired { at: at(now) },
                _ => Event::CancelRequested,
            };
            let step = step(&before, event);
            subscription = step.subscription;
            prop_assert!(subscription.covered >= before.covered);
            if let Event::Paid { at } = event {
                prop_assert!(subscription.next_renewal() > at);
                prop_assert!(subscription.covered > before.covered);
            }
            for effect in &step.effects {
                if let Effect::Remind(day) = effect {
                    prop_assert!((-3..=3).contains(day));
                    prop_assert!(sent.insert((subscription.covered, *day)), "twice");
                }
            }
            if matches!(before.state, State::Cancelled | State::Ended) {
                prop_assert!(subscription.state == before.state && step.effects.is_empty());
                prop_assert!(subscription.next_due().is_none());
            }
        }
    }
}
