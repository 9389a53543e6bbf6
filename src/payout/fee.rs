//! What is offered for a payment's work, and how an offer is raised.

/// An offer for one unit of work, and what is taken beside the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fee {
    /// The most that is paid for it: wei per gas, or the smallest coin per virtual byte.
    pub rate: u128,
    /// What of it goes to the maker of the block. Zero where fees have one part.
    pub tip: u128,
    /// What a rollup takes for a payment's bytes, which it writes to the chain below, in base units of its coin. No
    /// signature bounds it, so it can only be reserved.
    pub data: u128,
    /// A lower rate is no use now: no node takes it, or no block soon. Zero where nothing is known of that.
    pub rate_least: u128,
}

/// Nodes keep the old version unless both parts offer a tenth more; an eighth is what they raise a base fee by at most.
const RAISE: u128 = 8;

impl Fee {
    /// Of a network whose fees have one part.
    pub const fn of(rate: u128) -> Self {
        Self { rate, tip: 0, data: 0, rate_least: 0 }
    }

    /// The most that a payment of so much work takes.
    pub const fn most(self, work: u128) -> u128 {
        work.saturating_mul(self.rate).saturating_add(self.data)
    }

    /// The rate at which `work` alone would take as much: quotes know one price, which covers both.
    pub fn all_in(self, work: u128) -> u128 {
        self.rate.saturating_add(self.data.div_ceil(work.max(1)))
    }

    /// The next version's offer: an eighth more in both parts, or what the network asks now if that is more, and never
    /// above `cap`. `None` if the eighth alone is above it.
    #[must_use]
    pub fn raised(self, asked: Self, cap: u128) -> Option<Self> {
        let rate = more(self.rate)?;
        if rate > cap {
            return None;
        }
        let tip = if self.tip == 0 { asked.tip } else { more(self.tip)?.max(asked.tip) };
        let rate = rate.max(asked.rate).min(cap);
        Some(Self { rate, tip: tip.min(rate), ..asked })
    }
}

fn more(part: u128) -> Option<u128> {
    part.checked_add(part / RAISE)?.checked_add(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_taken_for_data_is_in_the_price() {
        let fee = Fee { tip: 1, data: 100, ..Fee::of(7) };
        assert_eq!((fee.most(40), fee.all_in(40)), (380, 10));
        assert!(fee.all_in(40) * 40 >= fee.most(40));
        assert_eq!((Fee::of(7).most(40), Fee::of(7).all_in(40)), (280, 7));
    }

    proptest! {
        /// What a node asks of a replacement: at least a tenth more in both parts, and no tip above the whole.
        #[test]
        fn a_raise_is_one_that_nodes_take(
            rate in 1_u128..10_u128.pow(12), tip in 1_u128..10_u128.pow(12), asked in 0_u128..10_u128.pow(13),
            asked_tip in 0_u128..10_u128.pow(12), cap in 1_u128..10_u128.pow(13),
        ) {
            let fee = Fee { tip: tip.min(rate), ..Fee::of(rate) };
            let asked = Fee { tip: asked_tip.min(asked), data: 5, ..Fee::of(asked) };
            if let Some(raised) = fee.raised(asked, cap) {
                prop_assert!(raised.rate <= cap && raised.tip <= raised.rate);
                prop_assert!(raised.rate * 8 >= fee.rate * 9 && raised.tip * 8 >= fee.tip * 9);
                prop_assert!(raised.rate >= asked.rate.min(cap));
            } else {
                prop_assert!(rate + rate / 8 + 1 > cap);
            }
        }
    }
}
