//! A payout as its merchant sees it: camelCase, amounts in base units as text (`…Raw`), times in
//! ISO 8601.

use chrono::{DateTime, Utc};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    FeeLevel, State, TransactionState, Unsigned,
    psbt::{Draft, Input},
    schema as words, unsigned,
};
use crate::{
    asset::{
        address::evm,
        catalogue::{Catalogue, Currency},
    },
    invoice::{payment::iso_8601, schema},
    money::BaseUnits,
    payout::{eip1559::Transaction, schema as amounts},
};

/// All facts of the object.
#[derive(Clone, Debug)]
pub struct PayoutView {
    pub id: String,
    pub state: State,
    pub currency: &'static Currency,
    /// Chain id of an EVM network.
    pub chain_id: Option<u64>,
    /// As wallets write it.
    pub from_address: String,
    pub fee_level: FeeLevel,
    /// In the requested order.
    pub outputs: Vec<OutputView>,
    /// One that pays all, or one per recipient.
    pub transactions: Vec<TransactionView>,
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
}

#[derive(Clone, Debug)]
pub struct TransactionView {
    pub unsigned: Unsigned,
    pub state: TransactionState,
    pub tx_hash: Option<String>,
    pub confirmations: u64,
    /// Network fee in the network's own coin.
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
    #[schema(value_type = words::NcState)]
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
    /// Chain id that the signature covers (EIP-155); null on bitcoin, litecoin and dogecoin.
    #[schema(required)]
    pub chain_id: Option<u64>,
    /// The paying address, whose key must sign. On bitcoin, litecoin and dogecoin the change
    /// returns to it.
    pub from_address: String,
    #[schema(value_type = words::NcFeeLevel)]
    pub fee_level: &'static str,
    /// Recipients, in the order of the request.
    pub outputs: Vec<NcOutput>,
    /// Inputs on bitcoin, litecoin and dogecoin, all of which are spent; empty on EVM networks.
    pub inputs: Vec<NcInput>,
    /// The sum of all outputs, in base units.
    #[schema(value_type = amounts::RawAmount)]
    pub total_raw: String,
    /// Maximum network fee for all transactions, in base units of the chain's own coin; on bitcoin,
    /// litecoin and dogecoin the exact fee. A rollup's data fee is charged in addition.
    #[schema(value_type = amounts::RawAmount)]
    pub network_fee_raw: String,
    /// Change to `fromAddress` on bitcoin, litecoin and dogecoin, as the last output; null on EVM
    /// networks. Change below the dust limit is added to the fee.
    #[schema(value_type = Option<amounts::RawAmount>, required)]
    pub change_raw: Option<String>,
    /// Network fee paid so far, in base units of the chain's own coin.
    #[schema(value_type = amounts::RawAmount)]
    pub network_fee_paid_raw: String,
    /// The chain's own coin, in which fees are paid.
    pub network_fee_currency: &'static str,
    /// The transactions to sign; null in every state but `awaiting_signature`.
    #[schema(required)]
    pub unsigned: Option<NcUnsigned>,
    /// The submitted transactions: one that pays all outputs, or one for each, in the order of the
    /// outputs.
    pub tx_hashes: Vec<String>,
    /// Confirmations of the transaction that has the fewest; failed ones do not count.
    pub confirmations: u64,
    /// Confirmations after which a transaction is final.
    pub required_confirmations: u64,
    /// Deadline for submitting the signed transactions.
    #[schema(value_type = schema::Instant)]
    pub expires_at: String,
    /// Time of the request.
    #[schema(value_type = schema::Instant)]
    pub created_at: String,
    /// When the signed bytes were stored; null before.
    #[schema(value_type = Option<schema::Instant>, required)]
    pub submitted_at: Option<String>,
    /// When it reached a final state; null before.
    #[schema(value_type = Option<schema::Instant>, required)]
    pub ended_at: Option<String>,
    /// Time of the last change.
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
    #[schema(value_type = amounts::RawAmount)]
    pub amount_raw: String,
    /// In whole coins.
    pub amount: String,
    /// The merchant's own reference.
    #[schema(required)]
    pub reference: Option<String>,
    #[schema(value_type = words::NcOutputState)]
    pub state: String,
    /// The nonce of its transaction; null on bitcoin, litecoin and dogecoin.
    #[schema(required)]
    pub nonce: Option<u64>,
    /// Null until the payout is submitted.
    #[schema(required)]
    pub tx_hash: Option<String>,
    /// Confirmations of its transaction; no longer updated once it is final.
    pub confirmations: u64,
    /// Network fee of its transaction, in base units of the chain's own coin; null until the
    /// transaction is final.
    #[schema(value_type = Option<amounts::RawAmount>, required)]
    pub fee_raw: Option<String>,
    /// The reason why it failed, or why a node refuses it; null otherwise.
    #[schema(required)]
    pub error: Option<String>,
}

/// One input: an output of an earlier transaction that is spent.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NcInput {
    /// The transaction that created it.
    pub txid: String,
    /// Its index among that transaction's outputs, from 0.
    #[schema(value_type = u64)]
    pub vout: u32,
    /// In base units, as read from the chain.
    #[schema(value_type = amounts::RawAmount)]
    pub amount_raw: String,
}

/// The transactions for the merchant to sign.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NcUnsigned {
    /// `evm_tx`: EIP-1559 transactions, one for each output, with consecutive nonces. `psbt`: one
    /// transaction that pays all outputs.
    pub kind: &'static str,
    /// With `evm_tx` the transactions, in the order of the outputs; with `psbt` a PSBT of version 0
    /// in base64.
    pub payload: NcPayload,
    /// Deadline for submitting the signed transactions.
    #[schema(value_type = schema::Instant)]
    pub expires_at: String,
}

/// Content according to `kind`.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum NcPayload {
    /// With `evm_tx`: the transactions, in the order of the outputs.
    Transactions(Vec<NcTransaction>),
    /// With `psbt`: a PSBT of version 0 (BIP-174) in base64.
    Psbt(String),
}

/// One transaction to be signed, in three forms: as fields, as bytes, and as the hash of the bytes.
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
    /// Chain id that the signature covers (EIP-155).
    pub chain_id: String,
    /// The address whose key must sign.
    pub from: String,
    /// The transaction's number in the sequence of the sender's transactions.
    pub nonce: String,
    /// The recipient, or the token's contract.
    pub to: String,
    /// Transferred amount of the chain's coin, in wei.
    pub value: String,
    /// Call of the token's contract; `0x` for a transfer of coins.
    pub data: String,
    /// Gas limit.
    pub gas: String,
    /// Maximum fee per unit of gas, in wei.
    pub max_fee_per_gas: String,
    /// Priority fee (tip) per unit of gas, in wei; included in the maximum fee.
    pub max_priority_fee_per_gas: String,
}

/// The transactions to sign, as wallets and signing programs read them from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnsignedFile {
    /// Transactions of an EVM network, as in the API's `unsigned`.
    Json(String),
    /// The bytes of a PSBT of version 0 (BIP-174).
    Psbt(Vec<u8>),
}

impl PayoutView {
    /// The file to sign; `None` in every state but `awaiting_signature`.
    pub fn unsigned_file(&self) -> Option<UnsignedFile> {
        if self.state != State::AwaitingSignature {
            return None;
        }
        Some(match self.draft() {
            Some(draft) => UnsignedFile::Psbt(draft.bytes()),
            None => {
                let text = serde_json::to_string_pretty(&self.unsigned());
                UnsignedFile::Json(text.expect("unsigned transactions are plain data"))
            }
        })
    }

    /// The object for a response.
    pub fn render(&self) -> NcPayout {
        let currency = self.currency;
        let time = |at: Option<DateTime<Utc>>| at.map(iso_8601);
        let awaiting = self.state == State::AwaitingSignature;
        let add = BaseUnits::saturating_add;
        let total = self.outputs.iter().map(|output| output.amount).fold(BaseUnits::ZERO, add);
        let paid = self.transactions.iter().filter_map(|t| t.fee).fold(BaseUnits::ZERO, add);
        let most = unsigned::network_fee(self.transactions.iter().map(|t| &t.unsigned));
        let draft = self.draft();
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
            outputs: self.outputs().collect(),
            inputs: draft.map(Draft::inputs).unwrap_or_default().iter().map(input).collect(),
            total_raw: raw(total),
            network_fee_raw: raw(most.unwrap_or_default()),
            change_raw: draft.map(|draft| raw(draft.change(self.outputs.len()))),
            network_fee_paid_raw: raw(paid),
            network_fee_currency: Catalogue::get().native(currency.network).code,
            unsigned: awaiting.then(|| self.unsigned()),
            tx_hashes: self.transactions.iter().filter_map(|t| t.tx_hash.clone()).collect(),
            confirmations: self
                .transactions
                .iter()
                .filter(|transaction| transaction.state != TransactionState::Failed)
                .map(|transaction| transaction.confirmations)
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

    /// The one transaction that pays all recipients, if there is one.
    fn draft(&self) -> Option<&Draft> {
        match self.transactions.first().map(|first| &first.unsigned) {
            Some(Unsigned::Utxo(draft)) => Some(draft),
            Some(Unsigned::Evm(_)) | None => None,
        }
    }

    /// Each recipient with the state of the transaction that pays it.
    fn outputs(&self) -> impl Iterator<Item = NcOutput> {
        let count = self.transactions.len();
        self.outputs.iter().enumerate().filter_map(move |(position, output)| {
            let transaction = self.transactions.get(unsigned::paying(position, count))?;
            Some(self.output(output, transaction))
        })
    }

    fn output(&self, output: &OutputView, transaction: &TransactionView) -> NcOutput {
        NcOutput {
            address: output.address.clone(),
            amount_raw: raw(output.amount),
            amount: output.amount.to_decimal(u32::from(self.currency.decimals)),
            reference: output.reference.clone(),
            state: transaction.state.as_str().to_owned(),
            nonce: transaction.unsigned.nonce(),
            tx_hash: transaction.tx_hash.clone(),
            confirmations: transaction.confirmations,
            fee_raw: transaction.fee.map(raw),
            error: transaction.error.clone(),
        }
    }

    fn unsigned(&self) -> NcUnsigned {
        let (kind, payload) = match self.draft() {
            Some(draft) => ("psbt", NcPayload::Psbt(draft.base64())),
            None => ("evm_tx", NcPayload::Transactions(self.evm().collect())),
        };
        NcUnsigned { kind, payload, expires_at: iso_8601(self.expires_at) }
    }

    fn evm(&self) -> impl Iterator<Item = NcTransaction> {
        self.transactions.iter().enumerate().filter_map(|(output, one)| match &one.unsigned {
            Unsigned::Evm(transaction) => Some(NcTransaction {
                output,
                transaction: fields(transaction, &self.from_address),
                serialized: digits(&transaction.unsigned()),
                signing_hash: digits(&transaction.signing_hash()),
            }),
            Unsigned::Utxo(_) => None,
        })
    }
}

fn input(input: &Input) -> NcInput {
    NcInput { txid: input.txid.clone(), vout: input.vout, amount_raw: raw(input.amount) }
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
