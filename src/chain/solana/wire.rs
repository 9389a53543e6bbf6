//! Responses of `getBlock` with `transactionDetails: accounts`, of which only fields in use are
//! read, and the commitments that requests name.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// Of a block that is never reverted.
pub(super) const FINALIZED: &str = "finalized";
/// Of a block that two thirds of the stake voted for, some 13 seconds before it is finalized.
pub(super) const CONFIRMED: &str = "confirmed";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireBlock<'a> {
    #[serde(borrow)]
    pub blockhash: Cow<'a, str>,
    #[serde(borrow)]
    pub previous_blockhash: Cow<'a, str>,
    pub parent_slot: u64,
    /// Seconds; null if the node no longer has it.
    pub block_time: Option<i64>,
    /// Each is parsed separately, so that an unreadable one affects no other. Missing if none were
    /// requested.
    #[serde(default, borrow)]
    pub transactions: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
pub(super) struct WireTransaction<'a> {
    #[serde(borrow)]
    pub meta: WireMeta<'a>,
    #[serde(borrow)]
    pub transaction: WireBody<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireMeta<'a> {
    /// `null` for a success.
    #[serde(borrow)]
    pub err: &'a RawValue,
    pub pre_balances: Vec<u64>,
    pub post_balances: Vec<u64>,
    #[serde(default, borrow)]
    pub pre_token_balances: Option<Vec<WireTokenBalance<'a>>>,
    #[serde(default, borrow)]
    pub post_token_balances: Option<Vec<WireTokenBalance<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireTokenBalance<'a> {
    #[serde(borrow)]
    pub mint: Cow<'a, str>,
    /// Nodes of some years ago omit it.
    #[serde(default, borrow)]
    pub owner: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub ui_token_amount: WireAmount<'a>,
}

#[derive(Deserialize)]
pub(super) struct WireAmount<'a> {
    /// In the token's smallest units; digits.
    #[serde(borrow)]
    pub amount: Cow<'a, str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireBody<'a> {
    #[serde(borrow)]
    pub account_keys: Vec<WireKey<'a>>,
    #[serde(borrow)]
    pub signatures: Vec<Cow<'a, str>>,
}

#[derive(Deserialize)]
pub(super) struct WireKey<'a> {
    #[serde(borrow)]
    pub pubkey: Cow<'a, str>,
}
