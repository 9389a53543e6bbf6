//! The whole state × event product as one table, to be laid beside the specification.

use std::fmt::Write as _;

use expect_test::expect_file;
use proptest::prelude::*;

use super::*;

fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_000_000 + second, 0).unwrap()
}

/// 100 due, window ends at second 0, drafts are dropped at second 100.
fn order(state: State, funding: Funding) -> Order {
    let credited = match funding {
        Funding::None | Funding::Detected => 0,
        Funding::Underfunded => 40,
        Funding::Exact => 100,
        Funding::Overfunded => 130,
    };
    Order {
        state,
        funding,
        due: BaseUnits::new(100),
        credited: BaseUnits::new(credited),
        expires_at: at(0),
        abandoned_at: at(100),
        nothing_signed: false,
    }
}

/// Every standing that an order can reach.
fn standings() -> Vec<(State, Funding)> {
    use Funding::{Detected, Exact, None, Overfunded, Underfunded};
    vec![
        (State::Draft, None),
        (State::PendingDeposit, None),
        (State::PendingDeposit, Detected),
        (State::PendingDeposit, Underfunded),
        (State::Funded, Exact),
        (State::Funded, Overfunded),
        (State::Processing, Exact),
        (State::Processing, Overfunded),
        (State::Completed, Exact),
        (State::PartialFailed, Overfunded),
        (State::Expired, Underfunded),
        (State::Cancelled, Detected),
    ]
}

fn deposit(amount: u128, on_time: bool) -> Event {
    Event::DepositConfirmed { amount: BaseUnits::new(amount), on_time }
}

fn deadline(sight: Sight, in_sight: u128, may_hold: bool) -> Event {
    Event::DeadlinePassed { sight, in_sight: BaseUnits::new(in_sight), may_hold }
}

fn events() -> Vec<(&'static str, Event, i64)> {
    vec![
        ("confirm", Event::ConfirmRequested, -1),
        ("confirm, quote expired", Event::ConfirmRequested, 0),
        ("refresh", Event::RefreshRequested, -1),
        ("refresh after the window", Event::RefreshRequested, 0),
        ("refresh after a day", Event::RefreshRequested, 100),
        ("priced anew", Event::Requoted, -1),
        ("cancel", Event::CancelRequested, -1),
        ("deposit seen", Event::DepositSeen, -1),
        ("deposit 10", deposit(10, true), -1),
        ("deposit 60", deposit(60, true), -1),
        ("deposit 100", deposit(100, true), -1),
        ("deposit 101", deposit(101, true), -1),
        ("deposit 100 late", deposit(100, false), 1),
        ("timer too early", deadline(Sight::Complete, 0, true), -1),
        ("deadline", deadline(Sight::Complete, 0, true), 0),
        ("deadline, watcher behind", deadline(Sight::Behind, 0, true), 0),
        ("deadline, grace ended", deadline(Sight::GraceEnded, 0, true), 0),
        ("deadline, 100 confirming", deadline(Sight::Complete, 100, true), 0),
        ("deadline, 99 confirming", deadline(Sight::Complete, 99, true), 0),
        ("deadline, hold exhausted", deadline(Sight::Complete, 100, false), 0),
        ("a day later", deadline(Sight::Complete, 0, true), 100),
        ("sending begins", Event::SendingBegins, 1),
        ("all batches confirmed", Event::BatchesEnded { any_failed: false }, 1),
        ("a batch failed", Event::BatchesEnded { any_failed: true }, 1),
    ]
}

#[test]
fn the_state_by_event_product_of_an_order() {
    let mut table = String::new();
    for (state, funding) in standings() {
        for (name, event, second) in events() {
            let step = step(&order(state, funding), event, at(second));
            let verdict = match step.verdict {
                Verdict::Moved => format!("-> {}", step.state.as_str()),
                Verdict::Kept => "kept".to_owned(),
                Verdict::Held(hold) => format!("held: {hold:?}"),
                Verdict::Refused(refusal) => format!("refused: {refusal:?}"),
            };
            let effects: Vec<_> = step.effects.iter().map(|e| format!("{e:?}")).collect();
            let becomes = if step.funding == funding { "" } else { step.funding.as_str() };
            let line = format!(
                "{:15} {:11} | {name:24} | {verdict:26} | {becomes:11} | {}",
                state.as_str(),
                funding.as_str(),
                effects.join(", ")
            );
            writeln!(table, "{}", line.trim_end_matches([' ', '|'])).unwrap();
        }
    }
    expect_file!["lifecycle_table.txt"].assert_eq(&table);
}

/// The network asks more than was quoted before anything was signed.
#[test]
fn an_order_without_signed_payments_can_be_cancelled_or_requoted() {
    let order = |due| Order {
        due: BaseUnits::new(due),
        nothing_signed: true,
        ..order(State::Processing, Funding::Exact)
    };
    let cancelled = step(&order(100), Event::CancelRequested, at(5));
    assert_eq!(cancelled.state, State::Cancelled);
    assert_eq!(cancelled.effects, [Effect::Emit(EventType::Cancelled), Effect::Refund]);
    let refreshed = step(&order(100), Event::RefreshRequested, at(5));
    assert_eq!((refreshed.state, refreshed.effects), (State::Processing, vec![Effect::Requote]));
    for (due, state, funding) in [
        (101, State::PendingDeposit, Funding::Underfunded),
        (100, State::Funded, Funding::Exact),
        (99, State::Funded, Funding::Overfunded),
    ] {
        let priced = step(&order(due), Event::Requoted, at(5));
        assert_eq!((priced.state, priced.funding), (state, funding), "{due}");
        assert_eq!(priced.effects, [Effect::Emit(EventType::QuoteRefreshed)]);
    }
}

proptest! {
    #[test]
    fn a_terminal_state_never_changes(event in 0_usize..24, state in 4_usize..8, funding in 0_usize..5) {
        let (_, event, second) = events()[event];
        let state = State::ALL[state];
        prop_assert!(state.is_terminal());
        let order = order(state, Funding::ALL[funding]);
        prop_assert_eq!(step(&order, event, at(second)).state, state);
    }

    /// After any history in any order: no money is forgotten, nothing is sent that was not funded,
    /// and each event that can happen once happens once.
    #[test]
    fn any_sequence_of_events_leaves_every_unit_accounted_for(
        history in proptest::collection::vec((0_usize..24, 1_u128..80), 0..40),
    ) {
        let mut state = order(State::Draft, Funding::None);
        let (mut arrived, mut booked, mut created, mut ended) = (0, 0, 0, 0);
        for (index, amount) in history {
            let (_, event, second) = events()[index];
            // Only an order that was begun and priced anew is asked about.
            if event == Event::Requoted {
                continue;
            }
            state.nothing_signed = amount % 2 == 0;
            // A draft has no address.
            let event = if let Event::DepositConfirmed { on_time, .. } = event {
                if state.state == State::Draft {
                    continue;
                }
                deposit(amount, on_time)
            } else {
                event
            };
            if let Event::DepositConfirmed { amount, .. } = event {
                arrived += amount.get();
            }
            let mut step = step(&state, event, at(second));
            if state.state == State::Processing && step.effects == [Effect::Requote] {
                state.due = state.due.checked_add(BaseUnits::new(amount)).unwrap();
                step = super::step(&state, Event::Requoted, at(second));
            }
            for effect in &step.effects {
                match effect {
                    Effect::Credit(units) => {
                        booked += units.get();
                        state.credited = state.credited.checked_add(*units).unwrap();
                    }
                    Effect::BookLate(units) => booked += units.get(),
                    Effect::Emit(EventType::Created) => created += 1,
                    Effect::Emit(
                        EventType::Completed | EventType::PartialFailed | EventType::Expired | EventType::Cancelled,
                    ) => ended += 1,
                    Effect::Emit(_) | Effect::OpenFunding | Effect::Requote | Effect::Refund => {}
                }
            }
            if step.verdict == Verdict::Moved && step.state == State::Processing {
                prop_assert!(state.credited >= state.due);
            }
            state.state = step.state;
            state.funding = step.funding;
        }
        prop_assert_eq!(arrived, booked);
        prop_assert!(created <= 1 && ended <= 1);
        let covered = matches!(state.funding, Funding::Exact | Funding::Overfunded);
        prop_assert_eq!(covered, state.credited >= state.due);
    }
}

#[test]
fn cancelled_by_is_written_as_in_webhooks() {
    let names = CancelledBy::ALL.map(CancelledBy::as_str);
    assert_eq!(names, ["merchant", "operator"]);
}

/// A deposit that funded the order left the chain: a later deposit fills the gap first.
#[test]
fn a_deposit_that_replaces_a_reversed_one_is_no_over_payment() {
    for state in [State::Funded, State::Processing] {
        let gap = Order { credited: BaseUnits::new(40), ..order(state, Funding::Exact) };
        for (amount, funding, excess) in [
            (59, Funding::Exact, false),
            (60, Funding::Exact, false),
            (61, Funding::Overfunded, true),
        ] {
            let step = step(&gap, deposit(amount, true), at(-1));
            let mut effects = vec![Effect::Credit(BaseUnits::new(amount))];
            effects.extend(excess.then_some(Effect::Emit(EventType::Overfunded)));
            assert_eq!((step.state, step.funding, step.effects), (state, funding, effects));
        }
    }
}
