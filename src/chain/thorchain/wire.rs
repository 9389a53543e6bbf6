//! Types of CometBFT nodes' responses; 64-bit numbers are text in them.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// The JSON-RPC envelope, which requests by path return as well.
#[derive(Deserialize)]
pub(super) struct WireEnvelope<'a> {
    #[serde(borrow, default)]
    pub result: Option<&'a RawValue>,
    #[serde(default)]
    pub error: Option<WireError>,
}

#[derive(Deserialize)]
pub(super) struct WireError {
    #[serde(default)]
    pub code: i64,
    #[serde(default)]
    pub message: String,
    /// The actual error; the message is mostly `Internal error`.
    #[serde(default)]
    pub data: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct WireStatus<'a> {
    #[serde(borrow)]
    pub node_info: WireNodeInfo<'a>,
    #[serde(borrow)]
    pub sync_info: WireSyncInfo<'a>,
}

#[derive(Deserialize)]
pub(super) struct WireNodeInfo<'a> {
    pub network: &'a str,
}

#[derive(Deserialize)]
pub(super) struct WireSyncInfo<'a> {
    pub latest_block_height: &'a str,
}

#[derive(Deserialize)]
pub(super) struct WireBlock<'a> {
    #[serde(borrow)]
    pub block_id: WireBlockId<'a>,
    #[serde(borrow)]
    pub block: WireBlockBody<'a>,
}

#[derive(Deserialize, Default)]
pub(super) struct WireBlockId<'a> {
    #[serde(default)]
    pub hash: &'a str,
}

#[derive(Deserialize)]
pub(super) struct WireBlockBody<'a> {
    #[serde(borrow)]
    pub header: WireHeader<'a>,
    #[serde(borrow)]
    pub data: WireData<'a>,
}

#[derive(Deserialize)]
pub(super) struct WireHeader<'a> {
    pub chain_id: &'a str,
    pub height: &'a str,
    pub time: &'a str,
    pub data_hash: &'a str,
    /// Without a hash in a chain's first block.
    #[serde(borrow, default)]
    pub last_block_id: WireBlockId<'a>,
}

#[derive(Deserialize)]
pub(super) struct WireData<'a> {
    /// In base64; `null` in an empty block of some versions.
    #[serde(borrow, default)]
    pub txs: Option<Vec<&'a str>>,
}

#[derive(Deserialize)]
pub(super) struct WireResults<'a> {
    pub height: &'a str,
    #[serde(borrow, default)]
    pub txs_results: Option<Vec<&'a RawValue>>,
    /// Up to CometBFT 0.37, the block's own events came in two lists.
    #[serde(borrow, default)]
    pub begin_block_events: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default)]
    pub end_block_events: Option<Vec<&'a RawValue>>,
    /// From CometBFT 0.38 on, in one.
    #[serde(borrow, default)]
    pub finalize_block_events: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
pub(super) struct WireTxResult<'a> {
    /// Omitted by some versions if it is zero.
    #[serde(default)]
    pub code: u32,
    #[serde(borrow, default)]
    pub gas_used: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub events: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
pub(super) struct WireEvent<'a> {
    #[serde(borrow, default, rename = "type")]
    pub kind: Cow<'a, str>,
    #[serde(borrow, default)]
    pub attributes: Vec<WireAttribute<'a>>,
}

#[derive(Deserialize)]
pub(super) struct WireAttribute<'a> {
    #[serde(borrow, default)]
    pub key: Cow<'a, str>,
    #[serde(default)]
    pub value: Option<String>,
}

/// Response of the application, through `abci_query`.
#[derive(Deserialize)]
pub(super) struct WireQuery<'a> {
    #[serde(borrow)]
    pub response: WireApplication<'a>,
}

#[derive(Deserialize)]
pub(super) struct WireApplication<'a> {
    /// Zero is success.
    #[serde(default)]
    pub code: i64,
    #[serde(default)]
    pub log: String,
    /// In base64.
    #[serde(default)]
    pub value: Option<&'a str>,
    #[serde(default)]
    pub height: &'a str,
}

/// A transaction looked up by its hash.
#[derive(Deserialize)]
pub(super) struct WireFound<'a> {
    pub height: &'a str,
    pub tx_result: WireOutcome,
}

#[derive(Deserialize)]
pub(super) struct WireOutcome {
    /// Zero is success.
    #[serde(default)]
    pub code: u64,
}
