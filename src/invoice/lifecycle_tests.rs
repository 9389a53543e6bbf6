//! The whole status × event product as one table, to be laid beside the specification.

use std::fmt::Write as _;

use expect_test::expect_file;
use proptest::prelude::*;

use super::*;

fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_000_000 + second, 0).unwrap()
}

/// 100 due, deadline at second 0; a partial invoice has 40.
fn invoice(status: Status) -> Invoice {
    let credited = if status == Status::Partial { 40 } else { 0 };
    Invoice {
        status,
        due: BaseUnits::new(if status == Status::Draft { 0 } else { 100 }),
        credited: BaseUnits::new(credited),
        overpay_tolerance: Bps::new(500),
        underpay: Underpay::NONE,
        deadline: at(0),
    }
}

fn deposit(amount: u128, on_time: bool) -> Event {
    Event::DepositConfirmed { amount: BaseUnits::new(amount), on_time }
}

fn picked(second: i64) -> Event {
    Event::CurrencyPicked { now: at(second) }
}

fn changed(second: i64, seen: bool) -> Event {
    Event::CurrencyChanged { now: at(second), seen }
}

fn cancelled(second: i64, seen: bool) -> Event {
    Event::CancelRequested { now: at(second), seen }
}

fn deadline(second: i64, sight: Sight, in_sight: u128, may_hold: bool) -> Event {
    Event::DeadlinePassed { now: at(second), sight, in_sight: BaseUnits::new(in_sight), may_hold }
}

fn events() -> Vec<(&'static str, Event)> {
    vec![
        ("picks in window", picked(-1)),
        ("picks too late", picked(0)),
        ("changes in window", changed(-1, false)),
        ("changes, deposit seen", changed(-1, true)),
        ("changes too late", changed(0, false)),
        ("deposit 10", deposit(10, true)),
        ("deposit 60", deposit(60, true)),
        ("deposit 100", deposit(100, true)),
        ("deposit 105", deposit(105, true)),
        ("deposit 106", deposit(106, true)),
        ("deposit 100 late", deposit(100, false)),
        ("wrong token", Event::ForeignDeposit(Foreign::WrongToken)),
        ("suspicious token", Event::ForeignDeposit(Foreign::SuspiciousToken)),
        ("timer too early", deadline(-1, Sight::Complete, 0, true)),
        ("deadline", deadline(0, Sight::Complete, 0, true)),
        ("deadline, watcher behind", deadline(0, Sight::Behind, 0, true)),
        ("deadline, grace ended", deadline(0, Sight::GraceEnded, 0, true)),
        ("deadline, 100 confirming", deadline(0, Sight::Complete, 100, true)),
        ("deadline, 99 confirming", deadline(0, Sight::Complete, 99, true)),
        ("deadline, hold exhausted", deadline(0, Sight::Complete, 100, false)),
        ("cancel", cancelled(-1, false)),
        ("cancel, deposit seen", cancelled(-1, true)),
        ("cancel after deadline", cancelled(0, false)),
        ("credit of 40 reversed", Event::CreditReversed { amount: BaseUnits::new(40) }),
    ]
}

#[test]
fn the_status_by_event_product_of_the_lifecycle() {
    let mut table = String::new();
    for status in Status::ALL {
        for (name, event) in events() {
            let step = step(&invoice(status), event);
            let verdict = match step.verdict {
                Verdict::Moved => format!("-> {}", step.status.as_str()),
                Verdict::Kept => "kept".to_owned(),
                Verdict::Held(hold) => format!("held: {hold:?}"),
                Verdict::Refused(refusal) => format!("refused: {refusal:?}"),
            };
            let effects: Vec<_> = step.effects.iter().map(|e| format!("{e:?}")).collect();
            let effects = effects.join(", ");
            let line = format!("{:9} | {name:24} | {verdict:24} | {effects}", status.as_str());
            writeln!(table, "{}", line.trim_end()).unwrap();
        }
    }
    expect_file!["lifecycle_table.txt"].assert_eq(&table);
}

proptest! {
    #[test]
    fn a_terminal_status_never_changes(index in 0_usize..24, status in 3_usize..7) {
        let (_, event) = events()[index];
        let status = Status::ALL[status];
        prop_assert!(status.is_terminal());
        prop_assert_eq!(step(&invoice(status), event).status, status);
    }

    /// Paid implies received ≥ due; the booked amount is the received one, to the unit.
    #[test]
    fn any_sequence_of_deposits_is_credited_exactly(
        due in 1_u128..1_000_000,
        bps in 0_u32..10_000,
        amounts in proptest::collection::vec((1_u128..500_000, any::<bool>()), 0..12),
    ) {
        let mut state = Invoice {
            status: Status::Pending,
            due: BaseUnits::new(due),
            credited: BaseUnits::ZERO,
            overpay_tolerance: Bps::new(bps),
            underpay: Underpay::NONE,
            deadline: at(0),
        };
        let (mut booked, mut excess, mut finished) = (0, 0, 0);
        for (amount, on_time) in &amounts {
            let step = step(&state, deposit(*amount, *on_time));
            for effect in &step.effects {
                match effect {
                    Effect::Credit(units) => {
                        state.credited = state.credited.checked_add(*units).unwrap();
                        booked += units.get();
                    }
                    Effect::BookLate(units) => booked += units.get(),
                    Effect::RouteExcess(units) => excess += units.get(),
                    Effect::SendIpn(Ipn::Finished) => finished += 1,
                    Effect::SendIpn(Ipn::Expired) | Effect::SendNotice(_) | Effect::TakeBack(_) => {}
                }
            }
            state.status = step.status;
        }
        prop_assert_eq!(booked, amounts.iter().map(|(amount, _)| amount).sum::<u128>());
        let done = matches!(state.status, Status::Paid | Status::Overpaid);
        prop_assert_eq!(done, state.credited.get() >= due);
        prop_assert_eq!(finished, u32::from(done));
        prop_assert_eq!(excess > 0, state.status == Status::Overpaid);
        if state.status == Status::Overpaid {
            prop_assert_eq!(state.credited.get() - excess, due);
        }
    }

    /// Without a tolerance nothing changes; with one, an invoice is paid by what it says and never
    /// by less, at the moment that the merchant chose, and once.
    #[test]
    fn a_shortfall_within_the_tolerance_pays_when_the_merchant_says(
        due in 1_u128..1_000_000,
        bps in 0_u32..=1_000,
        at_once: bool,
        amounts in proptest::collection::vec(1_u128..600_000, 0..8),
    ) {
        let when = if at_once { UnderpayWhen::AtOnce } else { UnderpayWhen::Deadline };
        let mut state = Invoice {
            status: Status::Pending,
            due: BaseUnits::new(due),
            credited: BaseUnits::ZERO,
            overpay_tolerance: Bps::new(500),
            underpay: Underpay { tolerance: Bps::new(bps), when },
            deadline: at(0),
        };
        let least = (due * u128::from(10_000 - bps)).div_ceil(10_000).max(1);
        let mut finished = 0;
        for amount in amounts {
            let before = state;
            let step = step(&state, deposit(amount, true));
            for effect in &step.effects {
                match effect {
                    Effect::Credit(units) => state.credited = state.credited.saturating_add(*units),
                    Effect::SendIpn(Ipn::Finished) => finished += 1,
                    Effect::SendIpn(Ipn::Expired)
                    | Effect::BookLate(_)
                    | Effect::RouteExcess(_)
                    | Effect::SendNotice(_)
                    | Effect::TakeBack(_) => {}
                }
            }
            state.status = step.status;
            let paid = matches!(state.status, Status::Paid | Status::Overpaid);
            let needed = if at_once { least } else { due };
            prop_assert_eq!(paid, state.credited.get() >= needed, "{:?}", before);
        }
        let open = matches!(state.status, Status::Pending | Status::Partial);
        let end = step(&state, deadline(1, Sight::Complete, state.credited.get(), true));
        if open {
            let paid = state.credited.get() >= least;
            prop_assert_eq!(state.may_end_paid(), paid);
            prop_assert_eq!(end.status, if paid { Status::Paid } else { Status::Expired });
            finished += u32::from(paid);
        } else {
            prop_assert_eq!(end.status, state.status);
        }
        let is_paid = matches!(end.status, Status::Paid | Status::Overpaid);
        prop_assert_eq!(finished, u32::from(is_paid));
    }

    /// A deadline waits for what may still make the invoice paid, by the tolerance too.
    #[test]
    fn a_deadline_waits_for_a_payment_that_the_tolerance_would_accept(
        bps in 1_u32..=1_000,
        in_sight in 0_u128..200,
    ) {
        let underpay = Underpay { tolerance: Bps::new(bps), when: UnderpayWhen::Deadline };
        let pending = Invoice { underpay, ..invoice(Status::Pending) };
        let held = step(&pending, deadline(0, Sight::Complete, in_sight, true));
        let accepted = pending.accepts(BaseUnits::new(in_sight));
        prop_assert_eq!(held.verdict == Verdict::Held(Hold::PaymentConfirming), accepted);
        let given_up = step(&pending, deadline(0, Sight::Complete, in_sight, false));
        prop_assert_eq!(given_up.status, Status::Expired);
    }
}
