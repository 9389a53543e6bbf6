//! The present price of a unit of gas on EVM networks.

use serde::Deserialize;

use crate::payout::fee::Fee;

/// An answer of `eth_feeHistory`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct History<'a> {
    /// Of each block, and at the end of the next one.
    #[serde(borrow, default)]
    pub base_fee_per_gas: Vec<&'a str>,
    /// For each block, the tips of its transactions at the requested percentiles.
    #[serde(borrow, default)]
    pub reward: Option<Vec<Vec<&'a str>>>,
}

impl History<'_> {
    /// The base fee of the next block.
    pub fn base(&self) -> Option<u128> {
        self.base_fee_per_gas.last().and_then(|text| wide(text))
    }

    /// The median of the tips in blocks that had any; `None` if none had.
    pub fn tip(&self) -> Option<u128> {
        let rewards = self.reward.as_deref().unwrap_or_default().iter();
        let mut tips: Vec<_> =
            rewards.filter_map(|of| wide(of.first()?)).filter(|tip| *tip > 0).collect();
        tips.sort_unstable();
        tips.get(tips.len() / 2).copied()
    }
}

/// Twice the base fee and a tip: enough for the next six blocks, however full they are. Less than
/// the base fee and the tip is in none of them.
pub(super) const fn offer(base: u128, tip: u128) -> Fee {
    let rate_least = base.saturating_add(tip);
    Fee { tip, rate_least, ..Fee::of(rate_least.saturating_add(base)) }
}

/// A number of at most 128 bits.
pub(super) fn wide(text: &str) -> Option<u128> {
    u128::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_fee_is_twice_the_next_base_fee_plus_the_median_tip() {
        let text = r#"{"oldestBlock":"0x1","baseFeePerGas":["0x5","0x6","0x64"],"gasUsedRatio":[0.5,0.5],
            "reward":[["0x3"],["0x0"]]}"#;
        let history: History = serde_json::from_str(text).unwrap();
        assert_eq!((history.base(), history.tip()), (Some(100), Some(3)));
        assert_eq!(offer(100, 3), Fee { tip: 3, rate_least: 103, ..Fee::of(203) });
        let silent: History = serde_json::from_str(r#"{"reward":null}"#).unwrap();
        assert_eq!((silent.base(), silent.tip()), (None, None));
    }
}
