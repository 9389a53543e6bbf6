//! Types of nodes' responses, as tolerant as the purpose allows.
//!
//! Only fields in use are named, so a transaction of a kind that does not exist yet is read like
//! any other. Entries of lists stay raw: each is parsed separately, and one that cannot be read
//! does not hide its neighbours.

use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireBlock<'a> {
    pub number: &'a str,
    pub hash: &'a str,
    pub parent_hash: &'a str,
    pub timestamp: &'a str,
    pub logs_bloom: &'a str,
    #[serde(default)]
    pub transactions_root: Option<&'a str>,
    #[serde(borrow, default)]
    pub transactions: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct WireTransaction<'a> {
    pub hash: &'a str,
    #[serde(default)]
    pub from: Option<&'a str>,
    /// Absent for a contract creation.
    #[serde(default)]
    pub to: Option<&'a str>,
    #[serde(default)]
    pub value: Option<&'a str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireReceipt<'a> {
    pub transaction_hash: &'a str,
    pub block_hash: &'a str,
    #[serde(default)]
    pub status: Option<&'a str>,
    #[serde(borrow, default)]
    pub logs: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireLog<'a> {
    pub address: &'a str,
    #[serde(borrow)]
    pub topics: Vec<&'a str>,
    pub data: &'a str,
    #[serde(default)]
    pub log_index: Option<&'a str>,
    /// True if the node withdraws a log after a reorg.
    #[serde(default)]
    pub removed: Option<bool>,
}

/// Position of a log of `eth_getLogs`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireLogPlace<'a> {
    pub transaction_hash: &'a str,
    pub block_hash: &'a str,
}
