//! Fee offers of a payment, and raising them (replace-by-fee).

/// Offer for one unit of work, and the costs beside the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fee {
    /// Maximum price of one unit of work: wei per gas, or the smallest coin per virtual byte.
    pub rate: u128,
    /// Part of the rate for the block's proposer. Zero on networks whose fees have one part.
    pub tip: u128,
    /// Data fee of a rollup for a payment's bytes, which it writes to the chain below, in base
    /// units of its coin. No signature bounds it, so it can only be reserved.
    pub data: u128,
    /// Minimum useful rate: nodes refuse a lower one, or no block takes it soon. Zero if unknown.
    pub rate_least: u128,
}

/// Divisor of a raise. Nodes keep the old version unless both parts rise by a tenth; an eighth is
/// the maximum rise of a base fee per block.
const RAISE: u128 = 8;

impl Fee {
    /// Offer on a network whose fees have one part.
    pub const fn of(rate: u128) -> Self {
        Self { rate, tip: 0, data: 0, rate_least: 0 }
    }

    /// Maximum cost of a payment with this amount of work.
    pub const fn most(self, work: u128) -> u128 {
        work.saturating_mul(self.rate).saturating_add(self.data)
    }

    /// The rate at which `work` alone would cost as much: quotes have one price, which covers both.
    pub fn all_in(self, work: u128) -> u128 {
        self.rate.saturating_add(self.data.div_ceil(work.max(1)))
    }

    /// Offer within `cap`, all in, for a payment of so much work. Where the network asks for more,
    /// the cap itself is offered as long as it buys a place in a block; `None` if it does not.
    #[must_use]
    pub fn within(self, cap: u128, work: u128) -> Option<Self> {
        if self.all_in(work) <= cap {
            return Some(self);
        }
        let data = Self { rate: 0, ..self }.all_in(work);
        let rate = cap.checked_sub(data)?;
        let is_of_use = self.rate_least > 0 && rate >= self.rate_least;
        is_of_use.then_some(Self { rate, tip: self.tip.min(rate), ..self })
    }

    /// Offer of the next version: an eighth more in both parts, or the network's current fee if
    /// that is more, and never above `cap`. `None` if the eighth alone is above it.
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
    fn layer_1_data_fees_are_part_of_the_quote() {
        let fee = Fee { tip: 1, data: 100, ..Fee::of(7) };
        assert_eq!((fee.most(40), fee.all_in(40)), (380, 10));
        assert!(fee.all_in(40) * 40 >= fee.most(40));
        assert_eq!((Fee::of(7).most(40), Fee::of(7).all_in(40)), (280, 7));
    }

    #[test]
    fn the_quoted_cap_is_offered_while_it_exceeds_the_base_fee() {
        let asked = |data| Fee { rate: 210, tip: 10, data, rate_least: 110 };
        assert_eq!(asked(0).within(210, 40), Some(asked(0)));
        assert_eq!(asked(0).within(209, 40), Some(Fee { rate: 209, ..asked(0) }));
        assert_eq!(asked(0).within(110, 40), Some(Fee { rate: 110, ..asked(0) }));
        assert_eq!(asked(0).within(109, 40), None);
        // The price of its bytes is part of the cap.
        assert_eq!(asked(400).within(120, 40), Some(Fee { rate: 110, ..asked(400) }));
        assert_eq!(asked(400).within(119, 40), None);
        assert_eq!(Fee::of(210).within(209, 40), None);
    }

    proptest! {
        /// Requirement of nodes for a replacement: at least a tenth more in both parts, and no tip
        /// above the whole.
        #[test]
        fn a_fee_increase_is_large_enough_for_nodes_to_accept_the_replacement(
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
