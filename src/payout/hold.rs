//! A hold: nothing more is signed for an order until its cause is gone.
//!
//! The database keeps one text for it. The causes that the program itself ends are marked at its
//! start; here is the only place that writes and reads the marks, so that no other reason, a
//! person's least of all, is taken for one of them.

use std::fmt;

/// The cause of a hold, which says what ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HoldCause {
    /// A fact or a person's word that people must look at: it ends when enough of them release it.
    Review,
    /// The gas wallet cannot pay now: it ends by itself once it can.
    Gas,
    /// Nothing binds the order: it ends when an operator accepts the order as it is.
    Unbound,
}

impl HoldCause {
    const ALL: [Self; 3] = [Self::Review, Self::Gas, Self::Unbound];

    /// The start of the stored text. Operators read it, and holds of earlier releases begin so.
    const fn mark(self) -> &'static str {
        match self {
            Self::Review => "",
            Self::Gas => "waits for gas: ",
            Self::Unbound => "nothing binds its recipients: ",
        }
    }

    fn of(stored: &str) -> Self {
        let marked = |cause: &Self| !cause.mark().is_empty() && stored.starts_with(cause.mark());
        Self::ALL.into_iter().find(marked).unwrap_or(Self::Review)
    }
}

/// The hold of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    cause: HoldCause,
    stored: String,
}

impl Hold {
    pub fn new(cause: HoldCause, reason: &str) -> Self {
        let stored = format!("{}{reason}", cause.mark());
        if HoldCause::of(&stored) == cause {
            return Self { cause, stored };
        }
        // Words of a person or of a node that begin like a mark.
        Self { cause, stored: format!("held: {stored}") }
    }

    /// A hold that people must release.
    pub fn for_review(reason: &str) -> Self {
        Self::new(HoldCause::Review, reason)
    }

    /// A hold as it is stored.
    pub fn from_stored(stored: String) -> Self {
        Self { cause: HoldCause::of(&stored), stored }
    }

    pub const fn cause(&self) -> HoldCause {
        self.cause
    }

    /// The reason, with its mark: as it is stored, and as operators read it.
    pub fn reason(&self) -> &str {
        &self.stored
    }

    /// Returns true if it ends by itself, without a person.
    pub const fn ends_by_itself(&self) -> bool {
        match self.cause {
            HoldCause::Gas => true,
            HoldCause::Review | HoldCause::Unbound => false,
        }
    }

    /// Returns true if this hold is stored over `earlier`: the first reason stays, unless it would
    /// end by itself and this one would not.
    pub const fn replaces(&self, earlier: &Self) -> bool {
        earlier.ends_by_itself() && !self.ends_by_itself()
    }
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.stored)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn holds_of_earlier_releases_are_read_by_their_marks() {
        for (stored, cause) in [
            ("waits for gas: the gas wallet 0xaa on polygon holds 0 POL", HoldCause::Gas),
            ("nothing binds its recipients: an earlier release confirmed it", HoldCause::Unbound),
            ("its gas would cost more than was quoted", HoldCause::Review),
            ("it waits for gas: no", HoldCause::Review),
            ("", HoldCause::Review),
        ] {
            let hold = Hold::from_stored(stored.to_owned());
            assert_eq!((hold.cause(), hold.reason()), (cause, stored));
        }
    }

    #[test]
    fn a_person_who_writes_like_a_mark_holds_the_order_for_people() {
        let hold = Hold::for_review("waits for gas: says the merchant");
        assert_eq!(hold.reason(), "held: waits for gas: says the merchant");
        assert!(!Hold::from_stored(hold.reason().to_owned()).ends_by_itself());
    }

    #[test]
    fn only_a_hold_that_would_end_by_itself_gives_way() {
        let [review, gas, unbound] = HoldCause::ALL.map(|cause| Hold::new(cause, "x"));
        for new in [&review, &unbound] {
            assert!(new.replaces(&gas));
            assert!(!new.replaces(&review) && !new.replaces(&unbound));
        }
        for earlier in [&review, &gas, &unbound] {
            assert!(!gas.replaces(earlier));
        }
    }

    proptest! {
        #[test]
        fn a_hold_reads_back_as_it_was_written(
            mark in prop::sample::select(HoldCause::ALL.to_vec()), words in ".{0,20}",
        ) {
            let reason = format!("{}{words}", mark.mark());
            for cause in HoldCause::ALL {
                let hold = Hold::new(cause, &reason);
                prop_assert_eq!(Hold::from_stored(hold.reason().to_owned()), hold);
            }
        }
    }
}
