//! Any sequence of events on an invoice and on a payout order: terminal states stay terminal, and
//! every deposit is booked once.

use chrono::{DateTime, TimeDelta, Utc};
use gateway::{
    invoice::{
        deadline::Sight,
        lifecycle::{self as invoice, Foreign, Invoice},
        vocabulary::Status,
    },
    money::{BaseUnits, Bps},
    payout::{
        Funding, State,
        lifecycle::{self as payout, Order},
    },
};

/// Bytes as a source of choices; exhausted, it ends the sequence.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// Small amounts, whose sums meet; and now and then the largest possible one.
    fn amount(&mut self) -> Option<BaseUnits> {
        let byte = self.byte()?;
        Some(BaseUnits::new(if byte == u8::MAX { u128::MAX } else { byte.into() }))
    }

    fn sight(&mut self) -> Option<Sight> {
        Some([Sight::Complete, Sight::Behind, Sight::GraceEnded][usize::from(self.byte()? % 3)])
    }

    fn is(&mut self) -> Option<bool> {
        Some(self.byte()? & 1 == 1)
    }
}

pub fn check(data: &[u8]) {
    live_invoice(&mut Choices(data));
    live_order(&mut Choices(data));
}

fn live_invoice(choices: &mut Choices<'_>) -> Option<()> {
    let start = DateTime::UNIX_EPOCH;
    let mut it = Invoice {
        status: if choices.is()? { Status::Draft } else { Status::Pending },
        due: choices.amount()?,
        credited: BaseUnits::ZERO,
        overpay_tolerance: Bps::new(u32::from(choices.byte()?) * 100),
        underpay: gateway::merchant::settings::Underpay::NONE,
        deadline: start + TimeDelta::seconds(100),
    };
    let mut told = 0;
    loop {
        let now = start + TimeDelta::seconds(i64::from(choices.byte()?));
        let event = invoice_event(choices, now)?;
        let step = invoice::step(&it, event);
        let case = format!("{it:?} {event:?} {step:?}");
        assert!(!it.status.is_terminal() || step.status == it.status, "an end was left: {case}");
        assert_eq!(step.verdict == invoice::Verdict::Moved, step.status != it.status, "{case}");
        let (mut booked, mut excess) = (0, BaseUnits::ZERO);
        for effect in &step.effects {
            match effect {
                invoice::Effect::Credit(amount) => {
                    booked += 1;
                    it.credited =
                        it.credited.checked_add(*amount).unwrap_or(BaseUnits::new(u128::MAX));
                }
                invoice::Effect::TakeBack(amount) => {
                    it.credited = it.credited.remaining_after(*amount);
                }
                invoice::Effect::BookLate(_) => booked += 1,
                invoice::Effect::RouteExcess(amount) => excess = *amount,
                invoice::Effect::SendIpn(_) => told += 1,
                invoice::Effect::SendNotice(_) => {}
            }
        }
        let deposit = matches!(event, invoice::Event::DepositConfirmed { .. });
        let bookable = deposit && it.status != Status::Draft;
        assert_eq!(booked, usize::from(bookable), "booked once: {case}");
        assert!(told <= 1, "a second final IPN: {case}");
        let paid = matches!(step.status, Status::Paid | Status::Overpaid);
        assert!(!paid || it.credited >= it.due, "paid with too little: {case}");
        assert_eq!(!excess.is_zero(), step.status == Status::Overpaid && step.status != it.status);
        assert!(excess == BaseUnits::ZERO || excess == it.credited.remaining_after(it.due));
        it.status = step.status;
    }
}

fn invoice_event(choices: &mut Choices<'_>, now: DateTime<Utc>) -> Option<invoice::Event> {
    Some(match choices.byte()? % 7 {
        0 => invoice::Event::CurrencyPicked { now },
        1 | 2 => {
            invoice::Event::DepositConfirmed { amount: choices.amount()?, on_time: choices.is()? }
        }
        3 => invoice::Event::ForeignDeposit(if choices.is()? {
            Foreign::WrongToken
        } else {
            Foreign::SuspiciousToken
        }),
        4 => invoice::Event::DeadlinePassed {
            now,
            sight: choices.sight()?,
            in_sight: choices.amount()?,
            may_hold: choices.is()?,
        },
        5 => invoice::Event::CreditReversed { amount: choices.amount()? },
        _ => invoice::Event::CancelRequested { now, seen: choices.is()? },
    })
}

fn live_order(choices: &mut Choices<'_>) -> Option<()> {
    let start = DateTime::UNIX_EPOCH;
    let mut it = Order {
        state: State::Draft,
        funding: Funding::None,
        due: choices.amount()?,
        credited: BaseUnits::ZERO,
        expires_at: start + TimeDelta::seconds(100),
        abandoned_at: start + TimeDelta::seconds(150),
        nothing_signed: false,
    };
    loop {
        let now = start + TimeDelta::seconds(i64::from(choices.byte()?));
        let event = payout_event(choices)?;
        let step = payout::step(&it, event, now);
        let case = format!("{it:?} {event:?} {now} {step:?}");
        assert!(!it.state.is_terminal() || step.state == it.state, "an end was left: {case}");
        assert_eq!(step.verdict == payout::Verdict::Moved, step.state != it.state, "{case}");
        let mut booked = 0;
        for effect in &step.effects {
            match effect {
                payout::Effect::Credit(amount) => {
                    booked += 1;
                    it.credited =
                        it.credited.checked_add(*amount).unwrap_or(BaseUnits::new(u128::MAX));
                }
                payout::Effect::BookLate(_) => booked += 1,
                payout::Effect::Emit(_)
                | payout::Effect::OpenFunding
                | payout::Effect::Requote
                | payout::Effect::Refund => {}
            }
        }
        let deposit = matches!(event, payout::Event::DepositConfirmed { .. });
        assert_eq!(booked, usize::from(deposit && it.state != State::Draft), "{case}");
        let funded = step.state == State::Funded && it.state != State::Funded;
        assert!(!funded || it.credited >= it.due, "funded with too little: {case}");
        (it.state, it.funding) = (step.state, step.funding);
    }
}

fn payout_event(choices: &mut Choices<'_>) -> Option<payout::Event> {
    Some(match choices.byte()? % 9 {
        0 => payout::Event::ConfirmRequested,
        1 => payout::Event::RefreshRequested,
        2 => {
            // The corpus has a byte here.
            choices.is()?;
            payout::Event::CancelRequested
        }
        3 => payout::Event::DepositSeen,
        4 | 5 => {
            payout::Event::DepositConfirmed { amount: choices.amount()?, on_time: choices.is()? }
        }
        6 => payout::Event::DeadlinePassed {
            sight: choices.sight()?,
            in_sight: choices.amount()?,
            may_hold: choices.is()?,
        },
        7 => payout::Event::SendingBegins,
        _ => payout::Event::BatchesEnded { any_failed: choices.is()? },
    })
}
