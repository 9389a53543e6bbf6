//! A recorded block as text, the input of fixtures and fuzz targets.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{decode, evidence, wire::WireBlock};
use crate::{asset::Network, chain::Transfer};

/// A node's responses to `eth_getBlockByNumber` and `eth_getBlockReceipts`.
#[derive(Deserialize)]
struct Recording<'a> {
    #[serde(borrow)]
    block: &'a RawValue,
    #[serde(borrow)]
    receipts: Vec<&'a RawValue>,
}

/// The transfers in `{"block": …, "receipts": […]}`, or the reason why a follower would reject it.
pub fn read_recording(network: Network, text: &str) -> Result<Vec<Transfer>, String> {
    let recording: Recording<'_> = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let block: WireBlock<'_> =
        serde_json::from_str(recording.block.get()).map_err(|e| e.to_string())?;
    let body = decode::body(network, &block)?;
    let outcomes = decode::outcomes(network, &body.header, &recording.receipts)
        .ok_or("no receipt can be read")?;
    evidence::check(network, &body, &outcomes)?;
    Ok(decode::transfers(&body.transactions, &outcomes.receipts))
}
