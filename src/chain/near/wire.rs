//! Types of the neardata format, which are those of NEAR's indexer framework.

use std::borrow::Cow;

use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;

#[derive(Deserialize)]
pub(super) struct WireDocument<'a> {
    #[serde(borrow)]
    pub block: WireBlock<'a>,
    #[serde(borrow)]
    pub shards: Vec<WireShard<'a>>,
}

#[derive(Deserialize)]
pub(super) struct WireBlock<'a> {
    #[serde(borrow)]
    pub header: WireHeader<'a>,
    #[serde(borrow, default)]
    pub chunks: Vec<WireChunkHeader<'a>>,
}

#[derive(Deserialize)]
pub(super) struct WireHeader<'a> {
    pub height: u64,
    pub hash: &'a str,
    pub prev_hash: &'a str,
    /// Number of shards with a chunk in this block.
    #[serde(default)]
    pub chunks_included: usize,
    /// Lower by more than one if heights were skipped; absent in older blocks.
    #[serde(default)]
    pub prev_height: Option<u64>,
    /// Nanoseconds as text, because they do not fit the numbers of JavaScript.
    pub timestamp_nanosec: &'a str,
}

#[derive(Deserialize)]
pub(super) struct WireChunkHeader<'a> {
    #[serde(default)]
    pub shard_id: u64,
    pub chunk_hash: &'a str,
    /// Root of the outcomes that the shard executed in the previous block, if it made a chunk for
    /// that as well.
    #[serde(default)]
    pub outcome_root: &'a str,
    /// Height of an earlier block if the shard made no chunk for this one.
    pub height_included: u64,
}

#[derive(Deserialize)]
pub(super) struct WireShard<'a> {
    #[serde(default)]
    pub shard_id: u64,
    #[serde(borrow, default)]
    pub chunk: Option<WireChunk<'a>>,
    #[serde(borrow, default)]
    pub receipt_execution_outcomes: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct WireChunk<'a> {
    #[serde(borrow)]
    pub header: WireChunkHeader<'a>,
    #[serde(borrow, default)]
    pub transactions: Vec<&'a RawValue>,
}

/// Outcome of a transaction: mostly a receipt, which is executed separately.
#[derive(Deserialize)]
pub(super) struct WireTransaction<'a> {
    #[serde(borrow)]
    pub outcome: WireProven<'a>,
}

#[derive(Deserialize)]
pub(super) struct WireProven<'a> {
    #[serde(borrow)]
    pub execution_outcome: WireOutcomeWithProof<'a>,
}

#[derive(Deserialize)]
pub(super) struct WireOutcomeWithProof<'a> {
    pub id: &'a str,
    #[serde(borrow)]
    pub outcome: WireOutcomeProven<'a>,
    /// Path from the outcome up to the root of its shard.
    #[serde(borrow)]
    pub proof: Vec<WireStep<'a>>,
}

#[derive(Deserialize)]
pub(super) struct WireStep<'a> {
    pub hash: &'a str,
    /// Side on which `hash` is placed.
    pub direction: &'a str,
}

/// The fields of an outcome that its hash covers.
#[derive(Deserialize)]
pub(super) struct WireOutcomeProven<'a> {
    #[serde(borrow)]
    pub receipt_ids: Vec<&'a str>,
    pub gas_burnt: u64,
    pub tokens_burnt: &'a str,
    pub executor_id: &'a str,
    #[serde(borrow)]
    pub logs: Vec<Cow<'a, str>>,
    #[serde(borrow)]
    pub status: WireStatus<'a>,
}

#[derive(Deserialize)]
pub(super) enum WireStatus<'a> {
    Unknown,
    Failure(IgnoredAny),
    /// In base64.
    SuccessValue(Cow<'a, str>),
    SuccessReceiptId(&'a str),
}

/// A receipt that was executed in the block, with its outcome.
#[derive(Deserialize)]
pub(super) struct WireExecution<'a> {
    #[serde(borrow)]
    pub execution_outcome: WireOutcomeWithId<'a>,
    #[serde(borrow)]
    pub receipt: WireReceipt<'a>,
    /// The transaction it descends from.
    #[serde(default)]
    pub tx_hash: Option<&'a str>,
}

#[derive(Deserialize)]
pub(super) struct WireOutcomeWithId<'a> {
    pub id: &'a str,
    #[serde(borrow)]
    pub outcome: WireOutcome<'a>,
}

#[derive(Deserialize)]
pub(super) struct WireOutcome<'a> {
    pub executor_id: &'a str,
    #[serde(borrow, default)]
    pub logs: Vec<Cow<'a, str>>,
    #[serde(borrow)]
    pub status: &'a RawValue,
}

/// A status is one of these, or a failure, or the bare word `Unknown`.
#[derive(Deserialize)]
pub(super) struct WireSuccess {
    #[serde(default, rename = "SuccessValue")]
    pub value: Option<IgnoredAny>,
    #[serde(default, rename = "SuccessReceiptId")]
    pub receipt_id: Option<IgnoredAny>,
}

#[derive(Deserialize)]
pub(super) struct WireReceipt<'a> {
    pub predecessor_id: &'a str,
    pub receiver_id: &'a str,
    pub receipt_id: &'a str,
    #[serde(borrow)]
    pub receipt: WireReceiptBody<'a>,
}

#[derive(Deserialize)]
pub(super) struct WireReceiptBody<'a> {
    /// Absent in receipts that carry data.
    #[serde(borrow, default, rename = "Action")]
    pub action: Option<WireActions<'a>>,
}

#[derive(Deserialize)]
pub(super) struct WireActions<'a> {
    /// An object with one key, or a bare word such as `CreateAccount`.
    #[serde(borrow)]
    pub actions: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct WireAction<'a> {
    #[serde(borrow, default, rename = "Transfer")]
    pub transfer: Option<WireTransfer<'a>>,
    #[serde(borrow, default, rename = "FunctionCall")]
    pub call: Option<WireCall<'a>>,
}

#[derive(Deserialize)]
pub(super) struct WireCall<'a> {
    #[serde(borrow)]
    pub method_name: Cow<'a, str>,
    /// In base64.
    #[serde(borrow, default)]
    pub args: Cow<'a, str>,
}

/// The arguments of `ft_transfer_call` (NEP-141) that are in use.
#[derive(Deserialize)]
pub(super) struct WireLoan<'a> {
    #[serde(borrow)]
    pub receiver_id: Cow<'a, str>,
}

#[derive(Deserialize)]
pub(super) struct WireTransfer<'a> {
    pub deposit: &'a str,
}

/// Event that a contract logs after `EVENT_JSON:` (NEP-297).
#[derive(Deserialize)]
pub(super) struct WireEvent<'a> {
    #[serde(borrow, default)]
    pub standard: Cow<'a, str>,
    #[serde(borrow, default)]
    pub event: Cow<'a, str>,
    #[serde(borrow, default)]
    pub data: Option<&'a RawValue>,
}

/// One transfer of a NEP-141 token.
#[derive(Deserialize)]
pub(super) struct WireTokenMovement<'a> {
    #[serde(borrow, default)]
    pub old_owner_id: Option<&'a str>,
    /// Recipient of a transfer.
    #[serde(borrow, default)]
    pub new_owner_id: Option<&'a str>,
    /// Recipient of a mint.
    #[serde(borrow, default)]
    pub owner_id: Option<&'a str>,
    pub amount: &'a str,
}
