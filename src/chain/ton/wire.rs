//! Responses of toncenter's API v3, of which only fields in use are read. Any field may be missing
//! or null.

use serde::{Deserialize, Deserializer, de::IgnoredAny};
use serde_json::value::RawValue;

/// `masterchainInfo`.
#[derive(Deserialize)]
pub(super) struct WireInfo {
    pub last: WireBlock,
}

/// `blocks` and `masterchainBlockShards`.
#[derive(Deserialize)]
pub(super) struct WireBlocks {
    pub blocks: Vec<WireBlock>,
}

#[derive(Deserialize)]
pub(super) struct WireBlock {
    pub workchain: i32,
    pub shard: String,
    pub seqno: u64,
    pub root_hash: String,
    pub global_id: Option<i64>,
    #[serde(default, deserialize_with = "number")]
    pub gen_utime: Option<u64>,
    #[serde(default, deserialize_with = "number")]
    pub tx_count: Option<u64>,
}

/// `transactionsByMasterchainBlock`. Each entry is parsed separately, so that an unreadable one
/// affects no other.
#[derive(Deserialize)]
pub(super) struct WireTransactions<'a> {
    #[serde(borrow)]
    pub transactions: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct WireTransaction {
    pub account: String,
    pub hash: String,
    #[serde(default)]
    pub mc_block_seqno: Option<u64>,
    pub description: WireDescription,
    #[serde(default)]
    pub in_msg: Option<WireMessage>,
    #[serde(default)]
    pub out_msgs: Vec<WireMessage>,
}

#[derive(Deserialize)]
pub(super) struct WireDescription {
    #[serde(default)]
    pub aborted: Option<bool>,
    #[serde(default)]
    pub bounce: Option<IgnoredAny>,
}

#[derive(Deserialize)]
pub(super) struct WireMessage {
    #[serde(default)]
    pub source: Option<String>,
    /// In nanotons; digits.
    #[serde(default)]
    pub value: Option<String>,
    #[serde(default)]
    pub bounced: Option<bool>,
    #[serde(default)]
    pub message_content: Option<WireContent>,
}

#[derive(Deserialize)]
pub(super) struct WireContent {
    #[serde(default)]
    pub body: Option<String>,
}

/// `jetton/wallets`.
#[derive(Deserialize)]
pub(super) struct WireHolders {
    pub jetton_wallets: Vec<WireHolder>,
}

#[derive(Deserialize)]
pub(super) struct WireHolder {
    pub address: String,
    /// In the token's smallest units; digits.
    #[serde(default)]
    pub balance: Option<String>,
    pub owner: String,
    pub jetton: String,
}

/// `accountStates`.
#[derive(Deserialize)]
pub(super) struct WireAccounts {
    pub accounts: Vec<WireAccount>,
}

#[derive(Deserialize)]
pub(super) struct WireAccount {
    pub address: String,
    /// In nanotons; digits. Null for an account that no longer exists.
    #[serde(default)]
    pub balance: Option<String>,
}

/// A number that some versions write in quotes.
fn number<'de, D: Deserializer<'de>>(source: D) -> Result<Option<u64>, D::Error> {
    let raw = <&RawValue>::deserialize(source)?;
    Ok(raw.get().trim_matches('"').parse().ok())
}

/// Transactions looked up by their hash.
#[derive(Deserialize)]
pub(super) struct WirePlaces {
    #[serde(default)]
    pub transactions: Vec<WirePlace>,
}

/// The masterchain block that contains a transaction; `None` while there is none.
#[derive(Deserialize)]
pub(super) struct WirePlace {
    #[serde(default)]
    pub mc_block_seqno: Option<u64>,
}
