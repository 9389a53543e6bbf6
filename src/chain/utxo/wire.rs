//! The shapes that nodes answer with: those of Core 0.14 (dogecoin), 0.21 (litecoin) and 29
//! (bitcoin) alike.
//!
//! Only fields that all of them have are required. Entries of lists stay raw: each is read on its
//! own, and one that cannot be read does not take its neighbours along.

use serde::Deserialize;
use serde_json::value::RawValue;

pub(super) const GET_HEADER: &str = "getblockheader";
pub(super) const GET_WAITING: &str = "getrawtransaction";
/// Bitcoin's own code for a transaction that is not (or no more) there.
pub(super) const NOT_FOUND: i64 = -5;

#[derive(Deserialize)]
pub(super) struct WireInfo<'a> {
    pub blocks: u64,
    #[serde(default)]
    pub headers: Option<u64>,
    #[serde(rename = "bestblockhash")]
    pub best_block_hash: &'a str,
    /// Absent in older nodes.
    #[serde(rename = "initialblockdownload", default)]
    pub initial_block_download: bool,
}

/// Of `getmempoolinfo`.
#[derive(Deserialize)]
pub(super) struct WireMempoolInfo {
    /// Absent in older nodes, which do not say.
    #[serde(default)]
    pub loaded: Option<bool>,
}

/// Of `getblock` and `getblockheader`.
#[derive(Deserialize)]
pub(super) struct WireBlock<'a> {
    pub hash: &'a str,
    pub height: u64,
    /// -1 once the block is in the best chain no more.
    pub confirmations: i64,
    /// Absent in the first block.
    #[serde(rename = "previousblockhash", default)]
    pub previous_block_hash: Option<&'a str>,
    #[serde(rename = "merkleroot")]
    pub merkle_root: &'a str,
    pub time: i64,
    /// The median of the dates of this block and the ten before it: every block above is dated
    /// later.
    #[serde(rename = "mediantime", default)]
    pub median_time: Option<i64>,
    /// Absent from headers.
    #[serde(borrow, default, rename = "tx")]
    pub transactions: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct WireTransaction<'a> {
    pub txid: &'a str,
    #[serde(borrow, default, rename = "vin")]
    pub inputs: Vec<&'a RawValue>,
    #[serde(borrow, rename = "vout")]
    pub outputs: Vec<&'a RawValue>,
}

/// An input that spends an output. A block's reward has none of these, nor has an input that comes
/// out of an extension block.
#[derive(Deserialize)]
pub(super) struct WireInput<'a> {
    pub txid: &'a str,
    pub vout: u32,
}

#[derive(Deserialize)]
pub(super) struct WireOutput<'a> {
    /// Inside litecoin's extension block, where amounts are secret and our addresses do not exist.
    #[serde(rename = "ismweb", default)]
    pub in_extension_block: bool,
    #[serde(default)]
    pub n: Option<u32>,
    /// Its digits, exactly as written.
    #[serde(borrow, default)]
    pub value: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "scriptPubKey")]
    pub script: Option<WireScript<'a>>,
}

#[derive(Deserialize)]
pub(super) struct WireScript<'a> {
    pub hex: &'a str,
}
