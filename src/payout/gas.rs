//! Gas for token payments: the amount of the network's coin at an order's address, and when more is
//! fronted.
//!
//! Only rows count, never a node's report of a balance. Gas is fronted in portions: an order that
//! ends early, or a lost key, then costs a portion and not the whole order's gas.

use crate::money::BaseUnits;

/// Number of payments that one portion is meant for.
pub const PORTION: usize = 32;
/// More is fronted as soon as the coins there, or on their way, pay for fewer payments.
pub const LOW: usize = 16;
/// Gas is returned if its value is at least this many times the cost of returning it.
const WORTH_RETURNING: u128 = 4;

/// The coin at an order's address, in base units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gas {
    /// Fronted and confirmed in a block.
    pub arrived: u128,
    /// Fronted in total, including pending transfers.
    pub fronted: u128,
    /// Spent as network fees of ended payments, or returned.
    pub used: u128,
    /// Maximum fees of payments in progress.
    pub reserved: u128,
}

impl Gas {
    /// Coins at the address that are not reserved.
    pub const fn free(self) -> u128 {
        self.arrived.saturating_sub(self.used).saturating_sub(self.reserved)
    }

    /// Number of further payments that can be signed, each for at most `each`.
    pub fn pays_for(self, each: u128) -> usize {
        let count = self.free().checked_div(each).unwrap_or(u128::MAX);
        usize::try_from(count).unwrap_or(usize::MAX)
    }

    /// Amount to front for `waiting` further payments; `None` while there is enough for the next
    /// ones.
    pub fn to_front(self, waiting: usize, each: u128) -> Option<BaseUnits> {
        if self.lacks(waiting.min(LOW), each) == 0 {
            return None;
        }
        Some(BaseUnits::new(self.lacks(waiting.min(PORTION), each)))
    }

    fn lacks(self, payments: usize, each: u128) -> u128 {
        let payments = u128::try_from(payments).unwrap_or(u128::MAX);
        let wanted =
            self.used.saturating_add(self.reserved).saturating_add(each.saturating_mul(payments));
        wanted.saturating_sub(self.fronted)
    }

    /// Amount to return if sending it may cost `cost`; `None` if it is not worth it.
    pub fn to_return(self, cost: u128) -> Option<BaseUnits> {
        let amount = self.free().checked_sub(cost)?;
        let is_worth_it = amount > 0 && amount >= cost.saturating_mul(WORTH_RETURNING);
        is_worth_it.then(|| BaseUnits::new(amount))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn gas_comes_in_portions_before_the_last_one_is_used_up() {
        let mut gas = Gas::default();
        assert_eq!(gas.to_front(2_000, 10), Some(BaseUnits::new(320)));
        gas.fronted = 320;
        assert_eq!((gas.to_front(2_000, 10), gas.pays_for(10)), (None, 0));
        gas.arrived = 320;
        assert_eq!(gas.pays_for(10), 32);
        gas.reserved = 160;
        assert_eq!((gas.to_front(1_984, 10), gas.pays_for(10)), (None, 16));
        gas.reserved = 170;
        assert_eq!(gas.to_front(1_983, 10), Some(BaseUnits::new(170)));
        // A risen fee is covered even if no other payment waits.
        gas.reserved = 400;
        assert_eq!(gas.to_front(0, 10), Some(BaseUnits::new(80)));
    }

    #[test]
    fn leftover_gas_is_returned_if_it_is_at_least_four_times_the_cost() {
        let gas = Gas { arrived: 100, fronted: 100, used: 40, reserved: 0 };
        assert_eq!(gas.to_return(12), Some(BaseUnits::new(48)));
        assert_eq!(gas.to_return(13), None);
        assert_eq!(gas.to_return(61), None);
        assert_eq!(Gas::default().to_return(0), None);
    }

    proptest! {
        /// Every signed payment is covered by arrived gas, and the fronted amount covers the
        /// requested one.
        #[test]
        fn nothing_is_signed_that_the_gas_does_not_cover(
            arrived in 0_u128..10_000, on_the_way in 0_u128..10_000, used in 0_u128..10_000, reserved in 0_u128..10_000,
            waiting in 0_usize..100, each in 1_u128..500,
        ) {
            let gas = Gas { arrived, fronted: arrived + on_the_way, used, reserved };
            let more = u128::try_from(gas.pays_for(each)).unwrap() * each;
            prop_assert!(more == 0 || used + reserved + more <= arrived);
            if let Some(front) = gas.to_front(waiting, each) {
                let fronted = Gas { fronted: gas.fronted + front.get(), ..gas };
                prop_assert_eq!(fronted.to_front(waiting, each), None);
            }
        }
    }
}
