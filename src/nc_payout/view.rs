//! A payout as its merchant sees it: camelCase, amounts in base units as text (`…Raw`), times in ISO 8601.

use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;

use super::{FeeLevel, State, TransactionState, build};
use crate::{
    asset::{
        address::evm,
        catalogue::{Catalogue, Currency},
    },
    invoice::{payment::iso_8601, schema},
    money::BaseUnits,
    payout::eip1559::Transaction,
};

/// Everything that the object is made of.
#[derive(Clone, Debug)]
pub struct PayoutView {
    pub id: String,
    pub state: State,
    pub currency: &'static Currency,
    pub chain_id: u64,
    /// As wallets write it.
    pub from_address: String,
    pub fee_level: FeeLevel,
    /// In the order in which they were asked for; each has one transaction.
    pub outputs: Vec<OutputView>,
    pub required_confirmations: u64,
    pub expires_at: DateTime<Utc>,
    pub created_at: DateTime<Utc>,
    pub submitted_at: Option<DateTime<Utc>>,
    pub ended_at: Option<DateTime<Utc>>,
    pub updated_at: DateTime<Utc>,
}

#[derive(Clone, Debug)]
pub struct OutputView {
    pub address: String,
    pub amount: BaseUnits,
    pub reference: Option<String>,
    pub transaction: Transaction,
    pub state: TransactionState,
    pub tx_hash: Option<String>,
    pub confirmations: u64,
    /// What the network took for it, in its own coin.
    pub fee: Option<BaseUnits>,
    pub error: Option<String>,
}

/// A non-custodial payout. Fields are only ever added.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NcPayout {
    /// `ncp_` and 26 characters.
    #[schema(pattern = "^ncp_[0-9a-hjkmnp-tv-z]{26}$")]
    pub id: String,
    /// `awaiting_signature`: sign `unsigned` and submit it before `expiresAt`. `submitted`: the signed bytes are stored and
    /// are sent until a block holds them. `confirming`: at least one is in a block. The others never change: `completed`,
    /// `partial_failed` (some recipients were paid), `failed` (none was), `expired` and `cancelled` (nothing was signed).
    pub state: String,
    /// The chain.
    #[schema(value_type = schema::NetworkName)]
    pub network: &'static str,
    /// The currency's code, as `GET /v1/currencies` lists it.
    pub currency: &'static str,
    /// Its ticker.
    pub symbol: &'static str,
    /// The token's contract; null for a chain's own coin.
    #[schema(required)]
    pub contract_address: Option<&'static str>,
    /// Decimal places of one whole unit.
    pub decimals: u8,
    /// What the signature is bound to (EIP-155).
    pub chain_id: u64,
    /// Who pays, and whose key must sign.
    pub from_address: String,
    /// `slow`, `normal` or `fast`.
    pub fee_level: &'static str,
    /// Who is paid, in the order in which it was asked for.
    pub outputs: Vec<NcOutput>,
    /// The sum of all outputs, in base units.
    pub total_raw: String,
    /// The most that the chain takes for all transactions, in base units of its own coin. A rollup's share for the first layer
    /// comes on top.
    pub network_fee_raw: String,
    /// What it took so far, in base units of its own coin.
    pub network_fee_paid_raw: String,
    /// The chain's own coin, in which fees are paid.
    pub network_fee_currency: &'static str,
    /// What is to be signed; null in every state but `awaiting_signature`.
    #[schema(required)]
    pub unsigned: Option<NcUnsigned>,
    /// The transactions that were submitted, in the order of the outputs.
    pub tx_hashes: Vec<String>,
    /// Of the transaction that has the fewest; those that failed do not count.
    pub confirmations: u64,
    /// What each transaction needs until it is final.
    pub required_confirmations: u64,
    /// Until when signed transactions are taken.
    #[schema(value_type = schema::Instant)]
    pub expires_at: String,
    /// When it was asked for.
    #[schema(value_type = schema::Instant)]
    pub created_at: String,
    /// When the signed bytes were stored; null before.
    #[schema(value_type = Option<schema::Instant>, required)]
    pub submitted_at: Option<String>,
    /// When its state became one that never changes; null before.
    #[schema(value_type = Option<schema::Instant>, required)]
    pub ended_at: Option<String>,
    /// When anything of it last changed.
    #[schema(value_type = schema::Instant)]
    pub updated_at: String,
}

/// One recipient.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NcOutput {
    /// As wallets write it.
    pub address: String,
    /// In base units.
    pub amount_raw: String,
    /// In whole coins.
    pub amount: String,
    /// The merchant's own reference.
    #[schema(required)]
    pub reference: Option<String>,
    /// `unsigned`, `signed` (stored, taken by no node so far), `sent`, `confirmed` (paid for good) or `failed` (never will be).
    pub state: String,
    /// The nonce of its transaction.
    pub nonce: u64,
    /// Null until it was submitted.
    #[schema(required)]
    pub tx_hash: Option<String>,
    /// The blocks on top of its transaction, its own included; no longer counted once it is final.
    pub confirmations: u64,
    /// What the chain took for it, in base units of its own coin; null until it is final.
    #[schema(required)]
    pub fee_raw: Option<String>,
    /// Why it failed, or why a node does not take it; null if all is well.
    #[schema(required)]
    pub error: Option<String>,
}

/// What the merchant signs.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NcUnsigned {
    /// `evm_tx`: EIP-1559 transactions, one for each output, with consecutive nonces.
    pub kind: &'static str,
    /// The transactions, in the order of the outputs.
    pub payload: Vec<NcTransaction>,
    /// Until when signed transactions are taken.
    #[schema(value_type = schema::Instant)]
    pub expires_at: String,
}

/// One transaction to be signed, thrice: as fields, as bytes, and as the hash of the bytes.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NcTransaction {
    /// The position of its output, from 0.
    pub output: usize,
    /// Its fields in hex, named as in `eth_signTransaction`.
    pub transaction: NcFields,
    /// Its bytes without a signature.
    pub serialized: String,
    /// The hash of `serialized`, which a bare key signs.
    pub signing_hash: String,
}

/// The fields of one EIP-1559 transaction.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NcFields {
    /// Always `0x2`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// What the signature is bound to (EIP-155).
    pub chain_id: String,
    /// Whose key must sign.
    pub from: String,
    /// Its place among all transactions of the sender.
    pub nonce: String,
    /// The recipient, or the token's contract.
    pub to: String,
    /// The coins that it moves, in wei.
    pub value: String,
    /// The call of the token's contract; `0x` for coins.
    pub data: String,
    /// The most gas it may use.
    pub gas: String,
    /// The most that a unit of gas may cost, in wei.
    pub max_fee_per_gas: String,
    /// The tip in it, in wei.
    pub max_priority_fee_per_gas: String,
}

impl PayoutView {
    /// The object as it stands in an answer.
    pub fn render(&self) -> NcPayout {
        let currency = self.currency;
        let time = |at: Option<DateTime<Utc>>| at.map(iso_8601);
        let transactions: Vec<_> = self.outputs.iter().map(|o| o.transaction.clone()).collect();
        let awaiting = self.state == State::AwaitingSignature;
        let add = |sum: BaseUnits, more: BaseUnits| sum.checked_add(more).unwrap_or(sum);
        let total = self.outputs.iter().fold(BaseUnits::ZERO, |sum, o| add(sum, o.amount));
        let paid = self.outputs.iter().filter_map(|o| o.fee).fold(BaseUnits::ZERO, add);
        NcPayout {
            id: self.id.clone(),
            state: self.state.as_str().to_owned(),
            network: currency.network.name(),
            currency: currency.code,
            symbol: currency.symbol,
            contract_address: currency.contract,
            decimals: currency.decimals,
            chain_id: self.chain_id,
            from_address: self.from_address.clone(),
            fee_level: self.fee_level.as_str(),
            outputs: self.outputs.iter().map(|output| self.output(output)).collect(),
            total_raw: raw(total),
            network_fee_raw: raw(build::network_fee(&transactions).unwrap_or_default()),
            network_fee_paid_raw: raw(paid),
            network_fee_currency: Catalogue::get().native(currency.network).code,
            unsigned: awaiting.then(|| self.unsigned()),
            tx_hashes: self.outputs.iter().filter_map(|o| o.tx_hash.clone()).collect(),
            confirmations: self
                .outputs
                .iter()
                .filter(|output| output.state != TransactionState::Failed)
                .map(|output| output.confirmations)
                .min()
                .unwrap_or(0),
            required_confirmations: self.required_confirmations,
            expires_at: iso_8601(self.expires_at),
            created_at: iso_8601(self.created_at),
            submitted_at: time(self.submitted_at),
            ended_at: time(self.ended_at),
            updated_at: iso_8601(self.updated_at),
        }
    }

    /// The same as text.
    pub fn snapshot(&self) -> String {
        serde_json::to_string(&self.render()).expect("a payout is plain data")
    }

    fn output(&self, output: &OutputView) -> NcOutput {
        NcOutput {
            address: output.address.clone(),
            amount_raw: raw(output.amount),
            amount: output.amount.to_decimal(u32::from(self.currency.decimals)),
            reference: output.reference.clone(),
            state: output.state.as_str().to_owned(),
            nonce: output.transaction.nonce,
            tx_hash: output.tx_hash.clone(),
            confirmations: output.confirmations,
            fee_raw: output.fee.map(raw),
            error: output.error.clone(),
        }
    }

    fn unsigned(&self) -> NcUnsigned {
        let entry = |(position, output): (usize, &OutputView)| {
            let transaction = &output.transaction;
            NcTransaction {
                output: position,
                transaction: fields(transaction, &self.from_address),
                serialized: digits(&transaction.unsigned()),
                signing_hash: digits(&transaction.signing_hash()),
            }
        };
        NcUnsigned {
            kind: "evm_tx",
            payload: self.outputs.iter().enumerate().map(entry).collect(),
            expires_at: iso_8601(self.expires_at),
        }
    }
}

fn fields(transaction: &Transaction, from: &str) -> NcFields {
    NcFields {
        kind: "0x2",
        chain_id: format!("{:#x}", transaction.chain_id),
        from: from.to_owned(),
        nonce: format!("{:#x}", transaction.nonce),
        to: evm::checksummed(&transaction.to),
        value: format!("{:#x}", transaction.value),
        data: digits(&transaction.data),
        gas: format!("{:#x}", transaction.gas_limit),
        max_fee_per_gas: format!("{:#x}", transaction.max_fee),
        max_priority_fee_per_gas: format!("{:#x}", transaction.priority_fee),
    }
}

fn digits(bytes: &[u8]) -> String {
    format!("0x{}", hex::encode(bytes))
}

fn raw(amount: BaseUnits) -> String {
    amount.get().to_string()
}
