//! Transactions for a merchant to sign on EVM networks: one per recipient, with consecutive nonces.
//!
//! A contract that pays many recipients in one transaction is not pinned on these networks, so it
//! need not be trusted. Each recipient has a separate transaction, and one that fails does not
//! affect the others.

use super::FeeLevel;

/// Maximum number of recipients of one payout.
pub const OUTPUTS_MAX: usize = 100;
/// Nodes keep only a limited number of pending transactions of one account; the next is sent when
/// one is mined.
pub const IN_FLIGHT_MAX: usize = 16;

/// Price of one unit of gas, in wei.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fees {
    pub priority_fee: u128,
    pub max_fee: u128,
}

impl FeeLevel {
    /// Fees to offer while the base fee is `base` and the usual priority fee `tip`, both in wei per
    /// gas.
    ///
    /// A block's base fee rises by at most an eighth. `slow` covers one such rise, `normal` six
    /// full blocks in a row, `fast` nine, and offers twice the tip. Of the maximum fee the network
    /// charges only the current base fee and the tip.
    pub const fn fees(self, base: u128, tip: u128) -> Fees {
        let (bearable, priority_fee) = match self {
            Self::Slow => (base.saturating_add(base.div_ceil(8)), tip),
            Self::Normal => (base.saturating_mul(2), tip),
            Self::Fast => (base.saturating_mul(3), tip.saturating_mul(2)),
        };
        Fees { priority_fee, max_fee: bearable.saturating_add(priority_fee) }
    }
}

impl Fees {
    /// The same with nothing above `most`, where a block asks `base`: what a node says of fees is
    /// no order to offer anything. `None` if that buys no place in a block with `tip`.
    pub fn within(self, most: u128, base: u128, tip: u128) -> Option<Self> {
        let room = most.checked_sub(base).filter(|room| *room >= tip)?;
        Some(Self { priority_fee: self.priority_fee.min(room), max_fee: self.max_fee.min(most) })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_fee_level_states_the_base_fee_rise_that_it_covers() {
        let fees = |level: FeeLevel| level.fees(1_000, 10);
        assert_eq!(fees(FeeLevel::Slow), Fees { priority_fee: 10, max_fee: 1_135 });
        assert_eq!(fees(FeeLevel::Normal), Fees { priority_fee: 10, max_fee: 2_010 });
        assert_eq!(fees(FeeLevel::Fast), Fees { priority_fee: 20, max_fee: 3_020 });
    }

    #[test]
    fn no_fee_level_exceeds_the_fee_limit() {
        let (base, tip) = (1_000, 10);
        let fast = FeeLevel::Fast.fees(base, tip);
        assert_eq!(fast.within(3_020, base, tip), Some(fast));
        assert_eq!(fast.within(1_500, base, tip), Some(Fees { max_fee: 1_500, ..fast }));
        let least = Fees { priority_fee: 10, max_fee: 1_010 };
        assert_eq!(fast.within(1_010, base, tip), Some(least));
        assert_eq!(fast.within(1_009, base, tip), None);
        assert_eq!(fast.within(999, base, tip), None);
    }

    proptest! {
        #[test]
        fn no_fee_level_has_a_tip_above_its_maximum_fee(base: u128, tip: u128) {
            for level in FeeLevel::ALL {
                let fees = level.fees(base, tip);
                prop_assert!(fees.priority_fee <= fees.max_fee);
            }
        }
    }
}
