//! The life of a settlement. Every state is decided here, from the state before and one event.

use crate::vocabulary::vocabulary;

vocabulary! {
    /// The state of a settlement.
    pub enum State: "state of a settlement" {
        /// Valid and stored; nothing is signed.
        Verified = "verified",
        /// Our transaction is signed and stored, and perhaps sent.
        Submitted = "submitted",
        /// Final on the chain, and the amount moved.
        Settled = "settled",
        /// Ended without effect.
        Failed = "failed",
    }
}

impl State {
    pub const fn has_ended(self) -> bool {
        matches!(self, Self::Settled | Self::Failed)
    }
}

/// A fact about a settlement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Its transaction was signed and stored.
    Signed,
    /// It was refused before anything was signed.
    Refused,
    /// Its transaction is final, and the token's log shows the movement.
    Moved,
    /// Its transaction is final and was reverted.
    Reverted,
    /// Another transaction used its nonce for good, so it can never be mined.
    Displaced,
    /// Its transaction is final and shows no movement, and an operator saw that there was none.
    GivenUp,
    /// The block in which it had ended was replaced by a reorg.
    Reorged,
}

impl Event {
    pub const ALL: [Self; 7] = [
        Self::Signed,
        Self::Refused,
        Self::Moved,
        Self::Reverted,
        Self::Displaced,
        Self::GivenUp,
        Self::Reorged,
    ];
}

/// The state after an event. One that cannot follow leaves the state as it is: it was reported
/// twice, or by a worker that was overtaken. A failure without a block is not reported as reorged.
#[must_use]
pub const fn after(state: State, event: Event) -> State {
    match (state, event) {
        (State::Verified, Event::Signed) => State::Submitted,
        (State::Verified, Event::Refused) => State::Failed,
        (State::Submitted, Event::Moved) => State::Settled,
        (State::Submitted, Event::Reverted | Event::Displaced | Event::GivenUp) => State::Failed,
        (State::Settled | State::Failed, Event::Reorged) => State::Submitted,
        (
            State::Verified,
            Event::Moved | Event::Reverted | Event::Displaced | Event::GivenUp | Event::Reorged,
        )
        | (State::Submitted, Event::Signed | Event::Refused | Event::Reorged)
        | (State::Settled | State::Failed, _) => state,
    }
}

/// Returns whether a settlement may be answered. A block that holds the movement is enough, so that
/// a program waits for one block and not for many; the books wait for the confirmations.
pub const fn has_answer(state: State, is_in_block: bool) -> bool {
    is_in_block || state.has_ended()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_after_every_event() {
        use Event::{Displaced, GivenUp, Moved, Refused, Reorged, Reverted, Signed};
        use State::{Failed, Settled, Submitted, Verified};
        let all = [Signed, Refused, Moved, Reverted, Displaced, GivenUp, Reorged];
        assert_eq!(Event::ALL, all);
        let table = [
            (Verified, [Submitted, Failed, Verified, Verified, Verified, Verified, Verified]),
            (Submitted, [Submitted, Submitted, Settled, Failed, Failed, Failed, Submitted]),
            (Settled, [Settled, Settled, Settled, Settled, Settled, Settled, Submitted]),
            (Failed, [Failed, Failed, Failed, Failed, Failed, Failed, Submitted]),
        ];
        assert_eq!(table.len(), State::ALL.len());
        for (state, ends) in table {
            for (event, next) in Event::ALL.into_iter().zip(ends) {
                assert_eq!(after(state, event), next, "{state:?} {event:?}");
            }
        }
    }

    /// What was signed is never refused afterwards: it may be in a block.
    #[test]
    fn nothing_that_was_signed_fails_but_by_the_chain() {
        assert_eq!(after(State::Submitted, Event::Refused), State::Submitted);
        for state in State::ALL {
            assert_eq!(state.as_str().parse(), Ok(state));
            assert_eq!(has_answer(state, false), state.has_ended());
            assert!(has_answer(state, true));
        }
    }
}
