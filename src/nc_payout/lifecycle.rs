//! Lifecycle of a payout: the one place where its state changes.
//!
//! [`step`] is total: an event that cannot change a state leaves it and gives the reason.

use chrono::{DateTime, Utc};

use super::State;

/// An event of a payout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The merchant requests it to be built again.
    RefreshRequested,
    CancelRequested,
    /// Signed transactions arrived that are exactly the built ones. `known`: these very bytes are
    /// stored already.
    SignaturesArrived {
        known: bool,
    },
    DeadlinePassed,
    /// The transactions were looked up on the chain.
    Followed(Tally),
    /// A reorg replaced the block of a transaction that had ended.
    Reorged,
}

/// Number of transactions in each state.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Tally {
    /// Not in a block.
    pub waiting: u32,
    /// In a block with too few confirmations.
    pub mined: u32,
    pub paid: u32,
    pub failed: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Moved,
    Kept,
    Refused(Refusal),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The payout is past the state in which this can be asked for.
    InvalidState,
    /// The signing window is over.
    Expired,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    pub state: State,
    pub verdict: Verdict,
}

/// Computes the new state of a payout in `state`, to be signed before `expires_at`, when `event`
/// reaches it at `now`.
pub fn step(state: State, expires_at: DateTime<Utc>, event: Event, now: DateTime<Utc>) -> Step {
    let late = now >= expires_at;
    match event {
        Event::RefreshRequested => refresh(state, late),
        Event::CancelRequested => cancel(state),
        Event::SignaturesArrived { known } => sign(state, late, known),
        Event::DeadlinePassed => expire(state, late),
        Event::Followed(tally) => follow(state, tally),
        Event::Reorged => open_again(state),
    }
}

/// The only way out of a terminal state: what was final is not.
const fn open_again(state: State) -> Step {
    match state {
        State::Completed | State::PartialFailed | State::Failed => moved(State::Confirming),
        State::AwaitingSignature
        | State::Submitted
        | State::Confirming
        | State::Expired
        | State::Cancelled => kept(state),
    }
}

/// The states that a reorg takes back, and the one that they have then.
pub fn taken_back() -> (Vec<State>, State) {
    let ended = |state: &State| open_again(*state).verdict == Verdict::Moved;
    (State::ALL.into_iter().filter(ended).collect(), State::Confirming)
}

const fn refresh(state: State, late: bool) -> Step {
    match state {
        State::AwaitingSignature if late => refused(state, Refusal::Expired),
        State::AwaitingSignature => kept(state),
        State::Expired => refused(state, Refusal::Expired),
        State::Submitted
        | State::Confirming
        | State::Completed
        | State::PartialFailed
        | State::Failed
        | State::Cancelled => refused(state, Refusal::InvalidState),
    }
}

/// Signed bytes cannot be revoked: a node may have them, and any holder can broadcast them.
const fn cancel(state: State) -> Step {
    match state {
        State::AwaitingSignature => moved(State::Cancelled),
        State::Cancelled => kept(state),
        State::Submitted
        | State::Confirming
        | State::Completed
        | State::PartialFailed
        | State::Failed
        | State::Expired => refused(state, Refusal::InvalidState),
    }
}

const fn sign(state: State, late: bool, known: bool) -> Step {
    match state {
        State::AwaitingSignature if late => refused(state, Refusal::Expired),
        State::AwaitingSignature => moved(State::Submitted),
        State::Expired => refused(state, Refusal::Expired),
        // Sent again because the response was lost.
        State::Submitted
        | State::Confirming
        | State::Completed
        | State::PartialFailed
        | State::Failed
            if known =>
        {
            kept(state)
        }
        State::Submitted
        | State::Confirming
        | State::Completed
        | State::PartialFailed
        | State::Failed
        | State::Cancelled => refused(state, Refusal::InvalidState),
    }
}

const fn expire(state: State, late: bool) -> Step {
    match state {
        State::AwaitingSignature if late => moved(State::Expired),
        State::AwaitingSignature
        | State::Submitted
        | State::Confirming
        | State::Completed
        | State::PartialFailed
        | State::Failed
        | State::Expired
        | State::Cancelled => kept(state),
    }
}

fn follow(state: State, tally: Tally) -> Step {
    match state {
        State::Submitted | State::Confirming => {
            let after = followed(state, tally);
            if after == state { kept(state) } else { moved(after) }
        }
        State::AwaitingSignature
        | State::Completed
        | State::PartialFailed
        | State::Failed
        | State::Expired
        | State::Cancelled => kept(state),
    }
}

const fn followed(before: State, tally: Tally) -> State {
    let Tally { waiting, mined, paid, failed } = tally;
    match (waiting + mined, paid, failed) {
        // Nothing was looked up, or no transaction is in a block. A reorg does not make a payout
        // unsubmitted, so `confirming` stays.
        (0, 0, 0) => before,
        (0, _, 0) => State::Completed,
        (0, 0, _) => State::Failed,
        (0, _, _) => State::PartialFailed,
        _ if mined + paid + failed > 0 => State::Confirming,
        _ => before,
    }
}

const fn moved(state: State) -> Step {
    Step { state, verdict: Verdict::Moved }
}

const fn kept(state: State) -> Step {
    Step { state, verdict: Verdict::Kept }
}

const fn refused(state: State, refusal: Refusal) -> Step {
    Step { state, verdict: Verdict::Refused(refusal) }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use expect_test::expect_file;
    use proptest::prelude::*;

    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_000_000 + second, 0).unwrap()
    }

    fn tally(waiting: u32, mined: u32, paid: u32, failed: u32) -> Event {
        Event::Followed(Tally { waiting, mined, paid, failed })
    }

    /// To be signed before second 0.
    fn events() -> Vec<(&'static str, Event, i64)> {
        vec![
            ("refresh", Event::RefreshRequested, -1),
            ("refresh, too late", Event::RefreshRequested, 0),
            ("cancel", Event::CancelRequested, -1),
            ("cancel, too late", Event::CancelRequested, 0),
            ("signatures", Event::SignaturesArrived { known: false }, -1),
            ("signatures, too late", Event::SignaturesArrived { known: false }, 0),
            ("the same signatures", Event::SignaturesArrived { known: true }, 0),
            ("timer too early", Event::DeadlinePassed, -1),
            ("deadline", Event::DeadlinePassed, 0),
            ("nothing looked for", tally(0, 0, 0, 0), 0),
            ("2 waiting", tally(2, 0, 0, 0), 0),
            ("1 waiting, 1 mined", tally(1, 1, 0, 0), 0),
            ("1 waiting, 1 paid", tally(1, 0, 1, 0), 0),
            ("1 waiting, 1 failed", tally(1, 0, 0, 1), 0),
            ("2 paid", tally(0, 0, 2, 0), 0),
            ("1 paid, 1 failed", tally(0, 0, 1, 1), 0),
            ("2 failed", tally(0, 0, 0, 2), 0),
            ("reorg", Event::Reorged, 0),
        ]
    }

    #[test]
    fn every_state_meets_every_event() {
        let mut table = String::new();
        for state in State::ALL {
            for (name, event, second) in events() {
                let step = step(state, at(0), event, at(second));
                let verdict = match step.verdict {
                    Verdict::Moved => step.state.as_str().to_owned(),
                    Verdict::Kept => "-".to_owned(),
                    Verdict::Refused(refusal) => format!("refused: {refusal:?}"),
                };
                writeln!(table, "{:18} | {name:20} | {verdict}", state.as_str()).unwrap();
                assert!(step.verdict == Verdict::Moved || step.state == state);
            }
        }
        expect_file!["lifecycle_table.txt"].assert_eq(&table);
    }

    proptest! {
        #[test]
        fn only_a_reorg_leaves_a_terminal_state_and_nothing_is_unsigned(
            history in proptest::collection::vec(0_usize..18, 0..40),
        ) {
            let (mut state, mut submitted) = (State::AwaitingSignature, 0);
            for index in history {
                let (_, event, second) = events()[index];
                let step = step(state, at(0), event, at(second));
                if state.is_terminal() && event != Event::Reorged {
                    prop_assert_eq!(step.state, state);
                }
                if step.verdict == Verdict::Moved && step.state == State::Submitted {
                    submitted += 1;
                }
                state = step.state;
            }
            prop_assert!(submitted <= 1);
            let unsigned = matches!(state, State::AwaitingSignature | State::Expired | State::Cancelled);
            prop_assert_eq!(unsigned, submitted == 0);
        }
    }
}
