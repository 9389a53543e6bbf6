//! Native balances of many addresses at one block.
//!
//! Value that a contract forwards appears in no block body, only in a balance. Tracing would show
//! it too, but most nodes do not offer it. A call that "deploys" a few bytes of code reads hundreds
//! of balances at once and needs no contract on the chain: the code is followed by the addresses,
//! and the "deployed" code it returns is the list of balances.

use serde_json::{json, value::RawValue};

use super::quantity;
use crate::{
    asset::Network,
    chain::{BlockRef, ChainError, rpc::Rpc},
    money::BaseUnits,
};

/// `for each 32-byte word after this code: replace it by BALANCE(word)`, then return the words.
const READER: &str = "0x6024380380602460003960005b81811015601f578051318152602001600c565b506000f3";
/// The returned bytes count as contract code, which is limited to 24,576 bytes (768 words).
const ADDRESSES_PER_CALL: usize = 500;
const WORD_DIGITS: usize = 64;

/// Reads all balances by the reader code.
pub(super) async fn by_reader(
    rpc: &Rpc,
    at: &BlockRef,
    addresses: &[String],
) -> Result<Vec<BaseUnits>, ChainError> {
    const METHOD: &str = "eth_call";
    let mut balances = Vec::with_capacity(addresses.len());
    for chunk in addresses.chunks(ADDRESSES_PER_CALL) {
        let mut data = READER.to_owned();
        for address in chunk {
            let address = digits(rpc.network(), address)?;
            data.push_str(&format!("{address:0>WORD_DIGITS$}"));
        }
        let params = json!([{ "data": data }, { "blockHash": at.hash }]);
        let result = rpc.call(METHOD, params).await?;
        let words = words(&result).filter(|words| words.len() == chunk.len() * WORD_DIGITS);
        let words = words.ok_or_else(|| rpc.malformed(METHOD, "not one word per address"))?;
        for start in (0..words.len()).step_by(WORD_DIGITS) {
            let balance = words.get(start..start + WORD_DIGITS).and_then(quantity::units);
            balances.push(balance.ok_or_else(|| rpc.malformed(METHOD, "not a balance"))?);
        }
    }
    Ok(balances)
}

/// Reads all balances by one ordinary call each, in batches.
pub(super) async fn by_question(
    rpc: &Rpc,
    at: &BlockRef,
    addresses: &[String],
) -> Result<Vec<BaseUnits>, ChainError> {
    const METHOD: &str = "eth_getBalance";
    let params: Vec<_> =
        addresses.iter().map(|address| json!([address, { "blockHash": at.hash }])).collect();
    let results = rpc.batch(METHOD, &params).await?;
    let read = |result: &RawValue| words(result).and_then(|digits| quantity::units(&digits));
    results
        .iter()
        .map(|result| read(result).ok_or_else(|| rpc.malformed(METHOD, "not a balance")))
        .collect()
}

/// Digits of an address that we derived ourselves.
pub(super) fn digits(network: Network, address: &str) -> Result<String, ChainError> {
    quantity::address(address).map(|address| address[2..].to_owned()).ok_or_else(|| {
        ChainError::Inconsistent { network, reason: format!("{address} is not an address") }
    })
}

/// Digits of a hex text; the caller parses them as numbers.
pub(super) fn words(result: &RawValue) -> Option<String> {
    serde_json::from_str::<&str>(result.get()).ok()?.strip_prefix("0x").map(str::to_owned)
}
