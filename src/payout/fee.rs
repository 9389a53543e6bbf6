//! What is offered for a payment's work, and how an offer is raised.

/// An offer for one unit of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fee {
    /// The most that is paid for it: wei per gas, or the smallest coin per virtual byte.
    pub rate: u128,
    /// What of it goes to the maker of the block. Zero where fees have one part.
    pub tip: u128,
}

/// Nodes keep the old version unless both parts offer a tenth more; an eighth is what they raise a base fee by at most.
const RAISE: u128 = 8;

impl Fee {
    /// Of a network whose fees have one part.
    pub const fn of(rate: u128) -> Self {
        Self { rate, tip: 0 }
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
        Some(Self { rate, tip: tip.min(rate) })
    }
}

fn more(part: u128) -> Option<u128> {
    part.checked_add(part / RAISE)?.checked_add(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// What a node asks of a replacement: at least a tenth more in both parts, and no tip above the whole.
        #[test]
        fn a_raise_is_one_that_nodes_take(
            rate in 1_u128..10_u128.pow(12), tip in 1_u128..10_u128.pow(12), asked in 0_u128..10_u128.pow(13),
            asked_tip in 0_u128..10_u128.pow(12), cap in 1_u128..10_u128.pow(13),
        ) {
            let fee = Fee { rate, tip: tip.min(rate) };
            let asked = Fee { rate: asked, tip: asked_tip.min(asked) };
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
