//! Made by sdk/generate.py from api/openapi.json; do not edit.

use serde::{Deserialize, Serialize};

use super::{Amount, NcPayload};

/// The fields of one EIP-1559 transaction.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NcFields {
    /// Chain id that the signature covers (EIP-155).
    pub chain_id: String,
    /// Call of the token's contract; `0x` for a transfer of coins.
    pub data: String,
    /// The address whose key must sign.
    pub from: String,
    /// Gas limit.
    pub gas: String,
    /// Maximum fee per unit of gas, in wei.
    pub max_fee_per_gas: String,
    /// Priority fee (tip) per unit of gas, in wei; included in the maximum fee.
    pub max_priority_fee_per_gas: String,
    /// The transaction's number in the sequence of the sender's transactions.
    pub nonce: String,
    /// The recipient, or the token's contract.
    pub to: String,
    /// Always `0x2`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Transferred amount of the chain's coin, in wei.
    pub value: String,
}

/// One input: an output of an earlier transaction that is spent.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NcInput {
    /// In base units, as read from the chain.
    pub amount_raw: String,
    /// The transaction that created it.
    pub txid: String,
    /// Its index among that transaction's outputs, from 0.
    pub vout: i64,
}

/// An input that cannot be spent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NcInputFault {
    /// As `txid:vout`.
    pub input: String,
    /// For people.
    pub reason: String,
}

/// The missing funds, in base units: of the currency with `INSUFFICIENT_FUNDS`, of the chain's own
/// coin with `INSUFFICIENT_GAS`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NcLack {
    /// The amount held.
    pub has_raw: String,
    /// The amount needed.
    pub needs_raw: String,
}

/// A field of a signed transaction that differs from the built one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NcOtherField {
    /// The built value; `-` if the transaction has no such field.
    pub built: String,
    /// As wallets call it.
    pub field: String,
    /// The submitted value; `-` if the transaction has no such field.
    pub signed: String,
}

/// One recipient.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NcOutput {
    /// As wallets write it.
    pub address: String,
    /// In whole coins.
    pub amount: String,
    /// In base units.
    pub amount_raw: String,
    /// Confirmations of its transaction; no longer updated once it is final.
    pub confirmations: i64,
    /// The reason why it failed, or why a node refuses it; null otherwise.
    pub error: Option<String>,
    /// Network fee of its transaction, in base units of the chain's own coin; null until the
    /// transaction is final.
    pub fee_raw: Option<String>,
    /// The nonce of its transaction; null on bitcoin, litecoin and dogecoin.
    pub nonce: Option<i64>,
    /// The merchant's own reference.
    pub reference: Option<String>,
    pub state: String,
    /// Null until the payout is submitted.
    pub tx_hash: Option<String>,
}

/// An output that cannot be paid.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NcOutputFault {
    /// Which of its fields, or `row` for all of it.
    pub field: String,
    /// The entry of `outputs`, counted from 1.
    pub output: i64,
    /// For people.
    pub reason: String,
    /// The beginning of the value that was sent.
    pub value: String,
}

/// A non-custodial payout. Fields are only ever added.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NcPayout {
    /// Chain id that the signature covers (EIP-155); null on bitcoin, litecoin and dogecoin.
    pub chain_id: Option<i64>,
    /// Change to `fromAddress` on bitcoin, litecoin and dogecoin, as the last output; null on EVM
    /// networks. Change below the dust limit is added to the fee.
    pub change_raw: Option<String>,
    /// Confirmations of the transaction that has the fewest; failed ones do not count.
    pub confirmations: i64,
    /// The token's contract; null for a chain's own coin.
    pub contract_address: Option<String>,
    /// Time of the request.
    pub created_at: String,
    /// The currency's code, as `GET /v1/currencies` lists it.
    pub currency: String,
    /// Decimal places of one whole unit.
    pub decimals: i64,
    /// When it reached a final state; null before.
    pub ended_at: Option<String>,
    /// Deadline for submitting the signed transactions.
    pub expires_at: String,
    pub fee_level: String,
    /// The paying address, whose key must sign. On bitcoin, litecoin and dogecoin the change
    /// returns to it.
    pub from_address: String,
    /// `ncp_` and 26 characters.
    pub id: String,
    /// Inputs on bitcoin, litecoin and dogecoin, all of which are spent; empty on EVM networks.
    pub inputs: Vec<NcInput>,
    /// The chain.
    pub network: String,
    /// The chain's own coin, in which fees are paid.
    pub network_fee_currency: String,
    /// Network fee paid so far, in base units of the chain's own coin.
    pub network_fee_paid_raw: String,
    /// Maximum network fee for all transactions, in base units of the chain's own coin; on bitcoin,
    /// litecoin and dogecoin the exact fee. A rollup's data fee is charged in addition.
    pub network_fee_raw: String,
    /// Recipients, in the order of the request.
    pub outputs: Vec<NcOutput>,
    /// Confirmations after which a transaction is final.
    pub required_confirmations: i64,
    pub state: String,
    /// When the signed bytes were stored; null before.
    pub submitted_at: Option<String>,
    /// Its ticker.
    pub symbol: String,
    /// The sum of all outputs, in base units.
    pub total_raw: String,
    /// The submitted transactions: one that pays all outputs, or one for each, in the order of the
    /// outputs.
    pub tx_hashes: Vec<String>,
    /// The transactions to sign; null in every state but `awaiting_signature`.
    pub unsigned: Option<NcUnsigned>,
    /// Time of the last change.
    pub updated_at: String,
}

/// `{ "ok": true, "data": … }` about one payout. It describes the output of `object`; nothing is
/// made of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NcPayoutAnswer {
    /// The payout in its present state.
    pub data: NcPayout,
    pub ok: bool,
}

/// One page of payouts.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NcPayoutPage {
    /// The payouts.
    pub data: Vec<NcPayout>,
    /// Payouts per page, after clamping.
    pub limit: i64,
    pub ok: bool,
    /// 0-based, after clamping.
    pub page: i64,
    /// Number of pages; at least 1, even if there are no entries.
    pub pages_count: i64,
    /// Payouts on all pages.
    pub total: i64,
}

/// Options for rebuilding a payout.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct NcRefresh {
    /// Unchanged if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fee_level: Option<String>,
}

/// The present state of a payout.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NcStanding {
    pub state: String,
}

/// The signed transactions.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
pub struct NcSubmission {
    /// Each signed transaction in hex, with or without `0x`, or in base64, in any order; a single
    /// transaction may be sent without the list. On bitcoin, litecoin and dogecoin send the signed
    /// PSBT, or the final transaction.
    pub signed: Vec<String>,
}

/// One transaction to be signed, in three forms: as fields, as bytes, and as the hash of the bytes.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NcTransaction {
    /// The position of its output, from 0.
    pub output: i64,
    /// Its bytes without a signature.
    pub serialized: String,
    /// The hash of `serialized`, which a bare key signs.
    pub signing_hash: String,
    /// Its fields in hex, named as in `eth_signTransaction`.
    pub transaction: NcFields,
}

/// The transactions for the merchant to sign.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NcUnsigned {
    /// Deadline for submitting the signed transactions.
    pub expires_at: String,
    /// `evm_tx`: EIP-1559 transactions, one for each output, with consecutive nonces. `psbt`: one
    /// transaction that pays all outputs.
    pub kind: String,
    /// With `evm_tx` the transactions, in the order of the outputs; with `psbt` a PSBT of version 0
    /// in base64.
    pub payload: NcPayload,
}

/// An unspent output of an earlier transaction that is in a block. Its amount is read from the
/// chain.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
pub struct NewNcInput {
    /// The transaction that created it, in hex.
    pub txid: String,
    /// Its index among that transaction's outputs, from 0.
    pub vout: i64,
}

/// One recipient. Either `amount` or `amountRaw`.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct NewNcOutput {
    /// An address of the network.
    pub address: String,
    /// Whole coins, as text or as a number. Either this or `amountRaw`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount: Option<Amount>,
    /// Base units. Either this or `amount`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub amount_raw: Option<String>,
    /// The merchant's own reference, unique within the payout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

/// A payout to be built. Members that are not listed are ignored; null is the same as absent.
#[derive(Debug, Clone, Serialize, Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub struct NewNcPayout {
    /// A currency's code, or its symbol on that network.
    pub currency: String,
    /// `normal` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fee_level: Option<String>,
    /// The sender: an address whose key is the merchant's. On bitcoin, litecoin and dogecoin it
    /// must belong to a single key (P2WPKH or P2PKH), all inputs must be at it, and the change
    /// returns to it.
    pub from_address: String,
    /// The outputs to spend on bitcoin, litecoin and dogecoin, where the list is required: all of
    /// them are spent, and the rest is returned as change. Ignored on EVM networks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Vec<NewNcInput>>,
    /// One of the EVM networks, bitcoin, litecoin or dogecoin.
    pub network: String,
    /// The recipients.
    pub outputs: Vec<NewNcOutput>,
}
