//! Payments that did not simply count: what the buyer hears of each, whether it is lost, and what
//! helps.

use super::buyer_phase::Phase;
use crate::{
    deposit::{BookedAs, State},
    vocabulary::vocabulary,
};

vocabulary! {
    /// Something that happened to a payment and that its buyer would otherwise have to guess.
    pub enum Happening: "happening of a payment" {
        /// Seen, without the confirmations that its network asks for.
        Unconfirmed = "unconfirmed",
        /// Another currency of the catalogue, on the network of the invoice.
        WrongToken = "wrong_token",
        /// A currency of the catalogue on another network that shares the address.
        WrongNetwork = "wrong_network",
        /// A token outside the catalogue, or an amount that no honest token has.
        UnknownToken = "unknown_token",
        /// After the end of the invoice.
        Late = "late",
        /// Another transaction that spends the same coins took its place.
        Replaced = "replaced",
        /// Its network does not know it any more, and no other is known to have taken its place.
        Dropped = "dropped",
        /// Its block left the chain; it waits for another one.
        Reorganised = "reorganised",
        /// It left the chain after it was booked, and did not come back.
        Reversed = "reversed",
    }
}

vocabulary! {
    /// Where the money is, as far as it can be known from the chain.
    pub enum Fate: "fate of a payment" {
        /// On its way; it counts once it is confirmed.
        Waiting = "waiting",
        /// At the merchant's address, without counting for the invoice.
        Kept = "kept",
        /// In the transaction that took its place.
        Moved = "moved",
        /// Never arrived: still the sender's, unless the sender's wallet spent it elsewhere.
        NotSent = "not_sent",
        /// No longer the merchant's.
        Lost = "lost",
        /// Arrived, and nobody vouches for a value.
        Unclear = "unclear",
    }
}

vocabulary! {
    /// The buyer's next step.
    pub enum Advice: "advice to a buyer" {
        Wait = "wait",
        /// Write to the merchant, with the reference.
        Write = "contact_merchant",
        /// Send the amount again if the wallet says that the transaction failed.
        SendAgain = "send_again",
        Nothing = "nothing",
    }
}

/// Facts of a deposit of an invoice.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    pub state: State,
    pub booked_as: Option<BookedAs>,
    /// On the network of the invoice.
    pub own_network: bool,
    /// In the currency of the invoice.
    pub own_token: bool,
    /// In a currency of the catalogue, and an amount that fits one.
    pub known_token: bool,
    pub on_time: bool,
    pub in_block: bool,
    /// Its block left the chain, and no other has it yet.
    pub left_block: bool,
    /// Another deposit of the invoice is known to have taken its place.
    pub replaced: bool,
    /// The invoice still waits for payments.
    pub open: bool,
}

/// The one thing to tell about a deposit; `None` of one that simply counts, or of which there is
/// nothing left to tell.
pub fn happening(facts: &Facts) -> Option<Happening> {
    let own = facts.own_network && facts.own_token && facts.known_token;
    match facts.state {
        State::Withdrawn | State::Reversed if !own => None,
        // Once the invoice has ended, nobody needs to look for what never arrived.
        State::Withdrawn if !facts.open => None,
        State::Withdrawn if facts.replaced => Some(Happening::Replaced),
        State::Withdrawn => Some(Happening::Dropped),
        State::Reversed => (!facts.replaced).then_some(Happening::Reversed),
        State::Seen | State::Final | State::Settled if !own => Some(foreign(facts)),
        State::Settled if !facts.in_block => Some(Happening::Reorganised),
        State::Settled => match facts.booked_as {
            Some(BookedAs::Late) => Some(Happening::Late),
            Some(BookedAs::Foreign | BookedAs::Suspicious) => Some(foreign(facts)),
            Some(BookedAs::Credit | BookedAs::Nothing | BookedAs::Gas) | None => None,
        },
        State::Seen if facts.left_block && !facts.in_block => Some(Happening::Reorganised),
        State::Seen | State::Final if !facts.open || !facts.on_time => Some(Happening::Late),
        State::Seen => Some(Happening::Unconfirmed),
        State::Final => None,
    }
}

const fn foreign(facts: &Facts) -> Happening {
    if !facts.known_token {
        Happening::UnknownToken
    } else if facts.own_network {
        Happening::WrongToken
    } else {
        Happening::WrongNetwork
    }
}

impl Happening {
    pub const fn fate(self) -> Fate {
        match self {
            Self::Unconfirmed | Self::Reorganised => Fate::Waiting,
            Self::WrongToken | Self::WrongNetwork | Self::Late => Fate::Kept,
            Self::UnknownToken => Fate::Unclear,
            Self::Replaced => Fate::Moved,
            Self::Dropped => Fate::NotSent,
            Self::Reversed => Fate::Lost,
        }
    }

    pub const fn advice(self) -> Advice {
        match self {
            Self::Unconfirmed | Self::Reorganised => Advice::Wait,
            Self::WrongToken
            | Self::WrongNetwork
            | Self::UnknownToken
            | Self::Late
            | Self::Reversed => Advice::Write,
            Self::Replaced => Advice::Nothing,
            Self::Dropped => Advice::SendAgain,
        }
    }

    /// The same in a phase: never to send again where that would come too late, or where enough was
    /// seen.
    pub fn advice_in(self, phase: Phase) -> Advice {
        let advice = self.advice();
        if advice == Advice::SendAgain && phase != Phase::Paying { Advice::Wait } else { advice }
    }
}

/// The text by which a merchant finds a payment that a buyer asks about.
pub fn reference(payment_id: &str, tx_hash: &str) -> String {
    format!("{payment_id} {tx_hash}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OWN: Facts = Facts {
        state: State::Seen,
        booked_as: None,
        own_network: true,
        own_token: true,
        known_token: true,
        on_time: true,
        in_block: true,
        left_block: false,
        replaced: false,
        open: true,
    };

    #[test]
    fn each_trouble_has_one_name() {
        use Happening::{
            Dropped, Late, Reorganised, Replaced, Reversed, Unconfirmed, UnknownToken,
            WrongNetwork, WrongToken,
        };
        let settled = Facts { state: State::Settled, booked_as: Some(BookedAs::Credit), ..OWN };
        let withdrawn = Facts { state: State::Withdrawn, in_block: false, ..OWN };
        let reversed = Facts { state: State::Reversed, in_block: false, ..settled };
        for (facts, expected) in [
            (OWN, Some(Unconfirmed)),
            (Facts { in_block: false, ..OWN }, Some(Unconfirmed)),
            (Facts { in_block: false, left_block: true, ..OWN }, Some(Reorganised)),
            (Facts { left_block: true, ..OWN }, Some(Unconfirmed)),
            (Facts { on_time: false, ..OWN }, Some(Late)),
            (Facts { open: false, ..OWN }, Some(Late)),
            (Facts { state: State::Final, ..OWN }, None),
            (Facts { own_token: false, ..OWN }, Some(WrongToken)),
            (Facts { own_token: false, own_network: false, ..OWN }, Some(WrongNetwork)),
            (Facts { own_token: false, known_token: false, ..OWN }, Some(UnknownToken)),
            (settled, None),
            (Facts { booked_as: Some(BookedAs::Late), ..settled }, Some(Late)),
            (
                Facts { booked_as: Some(BookedAs::Foreign), own_token: false, ..settled },
                Some(WrongToken),
            ),
            (Facts { in_block: false, ..settled }, Some(Reorganised)),
            (withdrawn, Some(Dropped)),
            (Facts { replaced: true, ..withdrawn }, Some(Replaced)),
            (Facts { open: false, ..withdrawn }, None),
            (Facts { open: false, replaced: true, ..withdrawn }, None),
            (Facts { own_token: false, ..withdrawn }, None),
            (reversed, Some(Reversed)),
            (Facts { replaced: true, ..reversed }, None),
        ] {
            assert_eq!(happening(&facts), expected, "{facts:?}");
        }
    }

    fn any_facts() -> impl Strategy<Value = Facts> {
        let booked = prop::option::of(prop::sample::select(BookedAs::ALL.to_vec()));
        let flags = prop::array::uniform8(any::<bool>());
        (prop::sample::select(State::ALL.to_vec()), booked, flags).prop_map(
            |(state, booked_as, [network, token, known, time, block, left, replaced, open])| {
                Facts {
                    state,
                    booked_as,
                    own_network: network,
                    own_token: token,
                    known_token: known,
                    on_time: time,
                    in_block: block,
                    left_block: left,
                    replaced,
                    open,
                }
            },
        )
    }

    proptest! {
        #[test]
        fn nobody_is_told_to_pay_again_for_what_may_still_arrive(facts in any_facts()) {
            if let Some(one) = happening(&facts) {
                let may_arrive = matches!(facts.state, State::Seen | State::Final | State::Settled);
                prop_assert!(!may_arrive || one.advice() != Advice::SendAgain);
                prop_assert!(!may_arrive || one.fate() != Fate::Lost);
                prop_assert!(one.fate() != Fate::Waiting || one.advice() == Advice::Wait);
            }
        }

        #[test]
        fn what_arrived_without_counting_is_never_passed_over(facts in any_facts()) {
            let own = facts.own_network && facts.own_token && facts.known_token;
            let arrived = matches!(facts.state, State::Seen | State::Final | State::Settled);
            let counts = own && matches!(facts.booked_as, None | Some(BookedAs::Credit));
            let unasked = matches!(facts.booked_as, Some(BookedAs::Nothing | BookedAs::Gas));
            if arrived && !counts && !(own && unasked) && facts.state == State::Settled {
                prop_assert!(happening(&facts).is_some());
            }
        }
    }
}
