//! Types of java-tron's HTTP interface. Its responses omit fields that are zero or empty.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// A block; empty if there is none, or an error under status 200.
#[derive(Deserialize)]
pub(super) struct WireBlock<'a> {
    #[serde(borrow, default, rename = "Error")]
    pub error: Option<Cow<'a, str>>,
    #[serde(default, rename = "blockID")]
    pub block_id: Option<&'a str>,
    #[serde(borrow, default)]
    pub block_header: WireHeader<'a>,
    #[serde(borrow, default)]
    pub transactions: Vec<&'a RawValue>,
}

#[derive(Deserialize, Default)]
pub(super) struct WireHeader<'a> {
    #[serde(borrow, default)]
    pub raw_data: WireHeaderData<'a>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireHeaderData<'a> {
    #[serde(default)]
    pub number: u64,
    #[serde(default)]
    pub parent_hash: &'a str,
    /// Zeros, or absent, if there are no transactions.
    #[serde(default)]
    pub tx_trie_root: &'a str,
    /// Milliseconds.
    #[serde(default)]
    pub timestamp: i64,
}

#[derive(Deserialize)]
pub(super) struct WireTransaction<'a> {
    #[serde(rename = "txID")]
    pub tx_id: &'a str,
    #[serde(borrow, default)]
    pub ret: Vec<WireRet<'a>>,
    #[serde(borrow)]
    pub raw_data: WireRawData<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireRet<'a> {
    #[serde(default)]
    pub contract_ret: Option<&'a str>,
}

#[derive(Deserialize)]
pub(super) struct WireRawData<'a> {
    #[serde(borrow, default)]
    pub contract: Vec<WireContract<'a>>,
}

#[derive(Deserialize)]
pub(super) struct WireContract<'a> {
    #[serde(default, rename = "type")]
    pub kind: &'a str,
    #[serde(borrow)]
    pub parameter: WireParameter<'a>,
}

#[derive(Deserialize)]
pub(super) struct WireParameter<'a> {
    /// Its format depends on the kind of contract.
    #[serde(borrow)]
    pub value: &'a RawValue,
}

#[derive(Deserialize)]
pub(super) struct WireTransfer<'a> {
    #[serde(borrow, default)]
    pub owner_address: Option<&'a str>,
    pub to_address: &'a str,
    #[serde(default)]
    pub amount: i64,
}

#[derive(Deserialize)]
pub(super) struct WireCall<'a> {
    pub contract_address: &'a str,
    #[serde(default)]
    pub data: &'a str,
}

/// Outcome of one transaction.
#[derive(Deserialize)]
pub(super) struct WireInfo<'a> {
    pub id: &'a str,
    #[serde(default, rename = "blockNumber")]
    pub block_number: u64,
    #[serde(default, rename = "blockTimeStamp")]
    pub block_timestamp: i64,
    /// Omitted for a success.
    #[serde(default)]
    pub result: Option<&'a str>,
    #[serde(borrow, default)]
    pub receipt: WireReceipt<'a>,
    #[serde(borrow, default)]
    pub log: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    pub internal_transactions: Vec<&'a RawValue>,
}

#[derive(Deserialize, Default)]
pub(super) struct WireReceipt<'a> {
    /// Present for contract calls only.
    #[serde(default)]
    pub result: Option<&'a str>,
}

/// Addresses have 20 bytes here, without the version byte; no text begins with `0x`.
#[derive(Deserialize)]
pub(super) struct WireLog<'a> {
    pub address: &'a str,
    #[serde(borrow, default)]
    pub topics: Vec<&'a str>,
    #[serde(default)]
    pub data: &'a str,
}

#[derive(Deserialize)]
pub(super) struct WireInternal<'a> {
    #[serde(rename = "transferTo_address", default)]
    pub to: &'a str,
    #[serde(borrow, rename = "callValueInfo", default)]
    pub values: Vec<WireCallValue<'a>>,
    /// Kind of the internal transaction, as text in hex.
    #[serde(default)]
    pub note: &'a str,
    #[serde(default)]
    pub rejected: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireCallValue<'a> {
    #[serde(default)]
    pub call_value: i64,
    /// Id of a TRC-10 token; without one the value is TRX.
    #[serde(borrow, default)]
    pub token_id: Option<Cow<'a, str>>,
}
