//! From a block and its outcomes to transfers, without io.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use chrono::DateTime;
use serde_json::value::RawValue;

use super::wire::{
    WireBlock, WireCall, WireContract, WireInfo, WireInternal, WireLog, WireTransaction,
    WireTransfer,
};
use crate::{
    asset::{Catalogue, Network, address},
    chain::{
        BlockRef, Transfer, TransferAmount, TransferAsset, amount::moves, entries::Place,
        evm::quantity,
    },
    money::BaseUnits,
};

const NETWORK: Network = Network::Tron;
/// keccak256("Transfer(address,address,uint256)"), as on Ethereum.
const TRANSFER_TOPIC: &str = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
/// A call of `transfer(address,uint256)` begins with this, and two words follow.
const TRANSFER_CALL: &str = "a9059cbb";
const TRANSFER_CALL_DIGITS: usize = TRANSFER_CALL.len() + 2 * 64;
const SUCCESS: &str = "SUCCESS";
/// `call`, `create` and `suicide` in hex. Others, such as delegated energy, name a receiver and a
/// value and move none.
const NOTES: [&str; 3] = ["63616c6c", "637265617465", "73756963696465"];

/// A block without its outcomes.
pub(super) struct Body {
    pub header: BlockRef,
    timestamp: i64,
    /// Whether the header says that there are transactions.
    pub commits_to_some: bool,
    /// In the order of the block; `None` where one could not be read.
    transactions: Vec<Option<Transaction>>,
}

struct Transaction {
    id: String,
    succeeded: bool,
    /// The TRX that it moves, if it is a plain transfer.
    payment: Option<Movement>,
    /// Whether it calls the transfer of a token in the catalogue.
    asks_token: bool,
}

impl Body {
    pub const fn is_empty(&self) -> bool {
        self.transactions.is_empty()
    }
}

/// The error is the name of the field that cannot be read.
pub(super) fn header(wire: &WireBlock<'_>) -> Result<BlockRef, &'static str> {
    let data = &wire.block_header.raw_data;
    let hash = wire.block_id.and_then(hash).ok_or("blockID")?;
    // An id is a hash whose first 8 bytes were replaced by the height.
    if !hash.starts_with(&format!("{:016x}", data.number)) {
        return Err("number, which is not that of the blockID");
    }
    Ok(BlockRef {
        height: data.number,
        hash,
        parent_hash: self::hash(data.parent_hash).ok_or("parentHash")?,
        mined_at: DateTime::from_timestamp_millis(data.timestamp).ok_or("timestamp")?,
    })
}

pub(super) fn body(wire: &WireBlock<'_>) -> Result<Body, &'static str> {
    let header = header(wire)?;
    let place = Place {
        network: NETWORK,
        height: header.height,
        block_hash: &header.hash,
        kind: "transaction",
    };
    let transactions = place.each(&wire.transactions, transaction);
    // One odd transaction is the chain's, all of them is a node that we do not understand at all.
    if transactions.len() > 1 && transactions.iter().all(Option::is_none) {
        return Err("transactions");
    }
    let data = &wire.block_header.raw_data;
    Ok(Body {
        timestamp: data.timestamp,
        commits_to_some: data.tx_trie_root.bytes().any(|digit| digit != b'0'),
        header,
        transactions,
    })
}

fn place<'a>(body: &'a Body, kind: &'static str) -> Place<'a> {
    let BlockRef { height, hash, .. } = &body.header;
    Place { network: NETWORK, height: *height, block_hash: hash, kind }
}

fn hash(text: &str) -> Option<String> {
    let is_hash = text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
    is_hash.then(|| text.to_ascii_lowercase())
}

/// An address as nodes write it, in the spelling that invoices have.
fn address(node_hex: &str) -> Option<String> {
    let key = address::match_key(NETWORK.family(), node_hex);
    key.starts_with('T').then_some(key)
}

/// Of the 20 bytes without a version that contracts use.
fn contract_address(hex: &str) -> Option<String> {
    address(&format!("41{hex}"))
}

fn transaction(raw: &RawValue) -> Result<Transaction, String> {
    let wire: WireTransaction = serde_json::from_str(raw.get()).map_err(|e| e.to_string())?;
    let mut payment = None;
    let asks_token = wire.raw_data.contract.iter().any(asks_token);
    for contract in &wire.raw_data.contract {
        if contract.kind == "TransferContract" {
            let value = contract.parameter.value.get();
            let transfer: WireTransfer = serde_json::from_str(value).map_err(|e| e.to_string())?;
            let to = address(transfer.to_address).ok_or("to_address")?;
            let from = transfer.owner_address.and_then(address);
            let amount = trx(transfer.amount).ok_or("amount")?;
            payment = Some(Movement { from, to, asset: TransferAsset::Native, amount });
        }
    }
    Ok(Transaction {
        id: hash(wire.tx_id).ok_or("txID")?,
        // Anything but a plain yes is a no.
        succeeded: wire.ret.first().and_then(|ret| ret.contract_ret) == Some(SUCCESS),
        payment: payment.filter(|payment| moves(&payment.amount)),
        asks_token,
    })
}

fn asks_token(contract: &WireContract<'_>) -> bool {
    if contract.kind != "TriggerSmartContract" {
        return false;
    }
    let call: Result<WireCall, _> = serde_json::from_str(contract.parameter.value.get());
    let Ok(WireCall { contract_address, data }) = call else { return false };
    let is_transfer = data.len() == TRANSFER_CALL_DIGITS && data.starts_with(TRANSFER_CALL);
    let token = || Catalogue::get().by_contract(NETWORK, &address(contract_address)?);
    is_transfer && token().is_some()
}

fn trx(sun: i64) -> Option<TransferAmount> {
    u128::try_from(sun).ok().map(|sun| TransferAmount::Units(BaseUnits::new(sun)))
}

/// The result of one transaction.
struct Outcome {
    id: String,
    succeeded: bool,
    /// At their places; `None` where one is no transfer.
    logs: Vec<Option<Movement>>,
    internals: Vec<Vec<Movement>>,
}

struct Movement {
    from: Option<String>,
    to: String,
    asset: TransferAsset,
    amount: TransferAmount,
}

/// Everything that moved, transaction by transaction. The error says how the outcomes contradict
/// the block.
pub(super) fn transfers(body: &Body, infos: &[&RawValue]) -> Result<Vec<Transfer>, String> {
    if infos.len() != body.transactions.len() {
        let (txs, infos) = (body.transactions.len(), infos.len());
        return Err(format!("{txs} transactions have {infos} outcomes"));
    }
    let place = place(body, "outcome");
    let outcomes = place.each(infos, |raw| outcome(body, raw));
    let has_unreadable = outcomes.iter().any(Option::is_none);
    let mut by_id = HashMap::with_capacity(outcomes.len());
    for outcome in outcomes.into_iter().flatten() {
        let outcome = outcome?;
        if let Some(twice) = by_id.insert(outcome.id.clone(), outcome) {
            return Err(format!("transaction {} has two outcomes", twice.id));
        }
    }
    let mut transfers = Vec::new();
    let mut listed = HashSet::new();
    for transaction in body.transactions.iter().flatten() {
        let id = transaction.id.as_str();
        if !listed.insert(id) {
            return Err(format!("transaction {id} is listed twice"));
        }
        match by_id.get(id) {
            Some(outcome) if transaction.succeeded && outcome.succeeded => {
                // Whatever else they do, the tokens that are sold note each transfer.
                if transaction.asks_token && outcome.logs.is_empty() {
                    return Err(format!("the token that {id} moved has logged nothing"));
                }
                add(&mut transfers, transaction, outcome);
            }
            Some(_) => {}
            None if has_unreadable => {}
            None => return Err(format!("transaction {id} has no outcome")),
        }
    }
    Ok(transfers)
}

fn add(transfers: &mut Vec<Transfer>, transaction: &Transaction, outcome: &Outcome) {
    let id = &transaction.id;
    let mut add = |place: String, movement: &Movement| {
        transfers.push(Transfer {
            key: format!("{id}:{place}"),
            tx_hash: id.clone(),
            to: movement.to.clone(),
            from: movement.from.clone(),
            asset: movement.asset.clone(),
            amount: movement.amount.clone(),
            maturity: 1,
            spends: Arc::default(),
        });
    };
    if let Some(payment) = &transaction.payment {
        add("native".to_owned(), payment);
    }
    for (k, movement) in outcome.logs.iter().enumerate() {
        if let Some(movement) = movement {
            add(format!("log:{k}"), movement);
        }
    }
    for (k, movements) in outcome.internals.iter().enumerate() {
        for movement in movements {
            add(format!("internal:{k}"), movement);
        }
    }
}

/// The outer error quarantines the outcome, the inner one refuses the block.
fn outcome(body: &Body, raw: &RawValue) -> Result<Result<Outcome, String>, String> {
    let wire: WireInfo = serde_json::from_str(raw.get()).map_err(|e| e.to_string())?;
    let id = hash(wire.id).ok_or("id")?;
    if wire.block_number != body.header.height || wire.block_timestamp != body.timestamp {
        return Ok(Err(format!("the outcome of {id} is of block {}", wire.block_number)));
    }
    let has_succeeded = |result: Option<&str>| result.is_none_or(|result| result == SUCCESS);
    let logs = place(body, "log").each(&wire.log, log).into_iter().map(Option::flatten).collect();
    let internals = place(body, "internal transaction").each(&wire.internal_transactions, internal);
    Ok(Ok(Outcome {
        id,
        succeeded: has_succeeded(wire.result) && has_succeeded(wire.receipt.result),
        logs,
        internals: internals.into_iter().map(Option::unwrap_or_default).collect(),
    }))
}

/// An event is a token payment only in the exact shape of TRC-20: three topics, one word of data.
fn log(raw: &RawValue) -> Result<Option<Movement>, String> {
    let wire: WireLog = serde_json::from_str(raw.get()).map_err(|e| e.to_string())?;
    let [topic, from, to] = wire.topics.as_slice() else { return Ok(None) };
    if *topic != TRANSFER_TOPIC {
        return Ok(None);
    }
    let contract = contract_address(wire.address).ok_or("address")?;
    let in_topic = |topic: &str| {
        let word = quantity::address_in_word(&format!("0x{topic}"))?;
        contract_address(word.trim_start_matches("0x"))
    };
    let (from, to) = (in_topic(from), in_topic(to));
    let amount = quantity::amount_in_word(&format!("0x{}", wire.data));
    let asset = TransferAsset::Contract(contract);
    let movement = |(to, amount)| Movement { from, to, asset, amount };
    Ok(to.zip(amount.filter(moves)).map(movement))
}

/// TRX that a contract moved.
fn internal(raw: &RawValue) -> Result<Vec<Movement>, String> {
    let wire: WireInternal = serde_json::from_str(raw.get()).map_err(|e| e.to_string())?;
    if wire.rejected || !NOTES.contains(&wire.note) {
        return Ok(Vec::new());
    }
    let mut sun: i64 = 0;
    for value in wire.values.iter().filter(|value| value.token_id.is_none()) {
        sun = sun.checked_add(value.call_value).ok_or("callValue")?;
    }
    if sun == 0 {
        return Ok(Vec::new());
    }
    let to = address(wire.to).ok_or("transferTo_address")?;
    let amount = trx(sun).ok_or("callValue")?;
    Ok(vec![Movement { from: None, to, asset: TransferAsset::Native, amount }])
}

#[cfg(test)]
mod tests;
