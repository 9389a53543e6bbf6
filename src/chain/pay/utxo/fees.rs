//! Current fee rate per virtual byte: the node's estimate, above a floor, or the operator's
//! setting.

use serde::Deserialize;
use serde_json::{json, value::RawValue};

use crate::{
    asset::Family,
    chain::{ChainError, rpc::Rpc},
    money::BaseUnits,
    payout::{fee::Fee, quote},
};

const ESTIMATE: &str = "estimatesmartfee";
const MEMPOOL: &str = "getmempoolinfo";
/// Confirmation target in blocks: an hour on bitcoin.
const BLOCKS: u32 = 6;
/// Decimals of the node's rates, which are in coins per kilobyte.
const DECIMALS: u32 = 8;
const KILOBYTE: u128 = 1_000;

#[derive(Debug, Clone, Copy)]
pub(super) struct Fees {
    fallback: u128,
    floor: u128,
}

#[derive(Deserialize)]
struct Estimate<'a> {
    // Missing if the node has too little data; old nodes write -1.
    #[serde(borrow, default, rename = "feerate")]
    rate: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Mempool<'a> {
    /// Minimum rate for entering the mempool, which rises as the mempool fills.
    #[serde(borrow, default, rename = "mempoolminfee")]
    least: Option<&'a RawValue>,
}

impl Fees {
    pub fn new(family: Family, fallback: u128) -> Self {
        Self { fallback, floor: quote::fee_rate_floor(family) }
    }

    /// The node's own estimate; `None` if it has too little data.
    pub async fn estimate(&self, rpc: &Rpc) -> Result<Option<u128>, ChainError> {
        Self::estimate_within(rpc, BLOCKS).await
    }

    async fn estimate_within(rpc: &Rpc, blocks: u32) -> Result<Option<u128>, ChainError> {
        let result = rpc.call(ESTIMATE, json!([blocks])).await?;
        let estimate: Estimate = rpc.read(ESTIMATE, &result)?;
        Ok(estimate.rate.and_then(per_byte))
    }

    /// Fee rate in base units per virtual byte, rounded up. It may exceed the highest quoted rate;
    /// then nothing is sent.
    pub async fn rate(&self, rpc: &Rpc) -> Result<Fee, ChainError> {
        self.rate_within(rpc, BLOCKS).await
    }

    /// The same for a transaction that is to be mined within `blocks` blocks. The least acceptable
    /// rate is half of the estimate, and no less than the mempool minimum: a transaction below it
    /// could stay unconfirmed indefinitely, with its inputs blocked.
    pub async fn rate_within(&self, rpc: &Rpc, blocks: u32) -> Result<Fee, ChainError> {
        let asked = Self::estimate_within(rpc, blocks).await?.unwrap_or(self.fallback);
        let result = rpc.call(MEMPOOL, json!([])).await?;
        let mempool: Mempool = rpc.read(MEMPOOL, &result)?;
        let least = mempool.least.and_then(per_byte).unwrap_or(0);
        let rate = asked.max(least).max(self.floor);
        Ok(Fee { rate_least: least.max(self.floor).max(rate.div_ceil(2)), ..Fee::of(rate) })
    }
}

/// Base units per byte from coins per kilobyte; `None` unless it is a positive number.
fn per_byte(raw: &RawValue) -> Option<u128> {
    let per_kilobyte = BaseUnits::parse(raw.get(), DECIMALS).ok()?.get();
    (per_kilobyte > 0).then(|| per_kilobyte.div_ceil(KILOBYTE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coins_per_kilobyte_become_units_per_byte() {
        let read = |text: &str| per_byte(serde_json::from_str::<&RawValue>(text).unwrap());
        for (text, rate) in [
            ("0.00001000", Some(1)),
            ("0.00020001", Some(21)),
            ("1.00000000", Some(100_000)),
            ("0.01", Some(1_000)),
            ("0", None),
            ("-1", None),
            ("-1.00000000", None),
            ("1e-05", Some(1)),
            ("\"1\"", None),
        ] {
            assert_eq!(read(text), rate, "{text}");
        }
    }
}
