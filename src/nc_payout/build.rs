//! What a merchant is given to sign on EVM networks: one transaction for each recipient, with consecutive nonces.
//!
//! A contract that pays many in one transaction is not pinned on these networks, so nobody has to trust one. Each
//! recipient has a transaction of his own, and one that fails leaves the others alone.

use super::FeeLevel;

/// Recipients of one payout.
pub const OUTPUTS_MAX: usize = 100;
/// Nodes keep only so many transactions of one account that wait for a block; the next goes out when one is mined.
pub const IN_FLIGHT_MAX: usize = 16;

/// What one unit of gas may cost, in wei.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fees {
    pub priority_fee: u128,
    pub max_fee: u128,
}

impl FeeLevel {
    /// What to offer while a block asks `base` and its makers `tip`, both in wei per gas.
    ///
    /// A block's base fee rises by at most an eighth. `slow` bears one such rise, `normal` six full blocks in a row, `fast`
    /// nine, and offers twice the tip. What is not asked is not taken.
    pub const fn fees(self, base: u128, tip: u128) -> Fees {
        let (bearable, priority_fee) = match self {
            Self::Slow => (base.saturating_add(base.div_ceil(8)), tip),
            Self::Normal => (base.saturating_mul(2), tip),
            Self::Fast => (base.saturating_mul(3), tip.saturating_mul(2)),
        };
        Fees { priority_fee, max_fee: bearable.saturating_add(priority_fee) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_level_says_what_rise_of_the_base_fee_it_bears() {
        let fees = |level: FeeLevel| level.fees(1_000, 10);
        assert_eq!(fees(FeeLevel::Slow), Fees { priority_fee: 10, max_fee: 1_135 });
        assert_eq!(fees(FeeLevel::Normal), Fees { priority_fee: 10, max_fee: 2_010 });
        assert_eq!(fees(FeeLevel::Fast), Fees { priority_fee: 20, max_fee: 3_020 });
    }

    proptest! {
        #[test]
        fn a_level_never_offers_a_tip_above_its_fee(base: u128, tip: u128) {
            for level in FeeLevel::ALL {
                let fees = level.fees(base, tip);
                prop_assert!(fees.priority_fee <= fees.max_fee);
            }
        }
    }
}
