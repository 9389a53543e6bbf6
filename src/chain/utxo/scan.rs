//! Balances of addresses, found by a scan of the whole UTXO set (`scantxoutset`).
//!
//! On the large chains the scan takes the node's disk some minutes, for one address as for a
//! thousand, and blocks nothing else. A node runs one at a time. Dogecoin's nodes have no such
//! method, and `gettxout` cannot replace it: it reads only outputs that we know, while the purpose
//! of comparing balances is to find payments that were missed.

use std::{collections::HashMap, time::Duration};

use serde::Deserialize;
use serde_json::{json, value::RawValue};

use super::{chain::Chain, decode};
use crate::{
    asset::address,
    chain::{ChainError, Held, TransferAsset, rpc::Rpc},
    money::BaseUnits,
};

const SCAN: &str = "scantxoutset";
/// Longer than a slow disk takes for bitcoin's whole UTXO set.
pub(super) const DEADLINE: Duration = Duration::from_secs(15 * 60);

#[derive(Deserialize)]
struct WireScan<'a> {
    /// `false` if the scan was aborted.
    success: bool,
    /// Height of the best block at the start; absent in Core before 0.19.
    height: u64,
    #[serde(borrow)]
    unspents: Vec<WireUnspent<'a>>,
}

#[derive(Deserialize)]
struct WireUnspent<'a> {
    #[serde(rename = "scriptPubKey")]
    script: &'a str,
    /// Its digits, exactly as written.
    #[serde(borrow)]
    amount: &'a RawValue,
}

/// `None` if the node has no such method.
pub(super) async fn holdings(
    rpc: &Rpc,
    chain: &Chain,
    addresses: &[String],
    assets: &[TransferAsset],
) -> Result<Option<Held>, ChainError> {
    if addresses.is_empty() {
        return is_offered(rpc).await;
    }
    let wanted: Vec<_> = addresses.iter().map(|address| format!("addr({address})")).collect();
    let result = match rpc.call(SCAN, json!(["start", wanted])).await {
        Err(refusal) if refusal.lacks_method() => return Ok(None),
        result => result?,
    };
    let scan: WireScan = rpc.read(SCAN, &result)?;
    if !scan.success {
        return Err(rpc.inconsistent("a scan was stopped before its end"));
    }
    let sums = sums(chain, &scan).ok_or_else(|| rpc.malformed(SCAN, "an unspent output"))?;
    // UTXO networks have no tokens.
    let held = |address: &String| {
        let units = sums.get(address).copied().unwrap_or(BaseUnits::ZERO);
        vec![Some(units); assets.len()]
    };
    let by_address = addresses.iter().map(held).collect();
    Ok(Some(Held { up_to: scan.height, by_address }))
}

/// Tests if the method exists, without a scan.
async fn is_offered(rpc: &Rpc) -> Result<Option<Held>, ChainError> {
    match rpc.call(SCAN, json!(["status"])).await {
        Err(refusal) if refusal.lacks_method() => Ok(None),
        status => status.map(|_| Some(Held { up_to: 0, by_address: Vec::new() })),
    }
}

/// Sums by the address of each script.
fn sums(chain: &Chain, scan: &WireScan<'_>) -> Option<HashMap<String, BaseUnits>> {
    let mut sums: HashMap<_, BaseUnits> = HashMap::new();
    for unspent in &scan.unspents {
        let script = hex::decode(unspent.script).ok()?;
        let address = address::of_script(chain.network, chain.realm, &script)?;
        let amount = BaseUnits::parse(unspent.amount.get(), decode::DECIMALS).ok()?;
        let sum = sums.entry(address).or_default();
        *sum = sum.checked_add(amount)?;
    }
    Some(sums)
}
