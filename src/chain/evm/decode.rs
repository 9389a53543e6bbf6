//! From a node's answer to transfers, without io.
//!
//! An entry that cannot be read is put aside with a warning and counted; it never stops its block.
//! [`evidence`](super::evidence) then knows that its content is missing, and would not accept a gap
//! otherwise.

use std::sync::Arc;

use chrono::DateTime;
use serde_json::value::RawValue;
use tracing::warn;

use super::{
    bloom::Bloom,
    quantity,
    wire::{WireBlock, WireLog, WireReceipt, WireTransaction},
};
use crate::{
    asset::Network,
    chain::{
        BlockRef, Transfer, TransferAmount, TransferAsset,
        entries::{Place, count_unreadable},
    },
};

/// keccak256("Transfer(address,address,uint256)"); ERC-20 and ERC-721 share it.
const TRANSFER_TOPIC: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/// The root of a trie without entries.
const EMPTY_ROOT: &str = "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421";

/// A block without its receipts.
#[derive(Debug)]
pub(super) struct Body {
    pub header: BlockRef,
    pub bloom: Bloom,
    pub transactions: Vec<Transaction>,
    /// Transactions that could not be read and are not among the others.
    pub unreadable: usize,
    /// Whether the header says that there are no transactions.
    pub commits_to_nothing: bool,
}

#[derive(Debug)]
pub(super) struct Transaction {
    pub hash: String,
    pub from: Option<String>,
    /// The receiver and the value sent to it, if there is a receiver and the value is not zero.
    pub payment: Option<(String, TransferAmount)>,
    /// Written by the chain itself, without sender or receiver (Polygon's state sync).
    pub is_system: bool,
}

/// The results of a block's transactions.
#[derive(Debug, Default)]
pub(super) struct Outcomes {
    pub receipts: Vec<Receipt>,
    /// Receipts that could not be read and are not among the others.
    pub unreadable: usize,
}

/// The result of one transaction.
#[derive(Debug)]
pub(in crate::chain) struct Receipt {
    pub tx_hash: String,
    pub block_hash: String,
    pub succeeded: bool,
    /// In the order of the transaction; `None` where one could not be read, so that the others keep
    /// their place.
    pub logs: Vec<Option<Log>>,
}

#[derive(Debug)]
pub(in crate::chain) struct Log {
    pub contract: String,
    pub topics: Vec<String>,
    pub data: String,
    pub index: Option<u64>,
    pub is_removed: bool,
}

/// The header of a block that was asked for; the error is the name of the field that cannot be
/// read.
pub(super) fn header(block: &WireBlock<'_>) -> Result<BlockRef, &'static str> {
    let mined_at = quantity::number(block.timestamp)
        .and_then(|seconds| i64::try_from(seconds).ok())
        .and_then(|seconds| DateTime::from_timestamp(seconds, 0));
    Ok(BlockRef {
        height: quantity::number(block.number).ok_or("number")?,
        hash: quantity::hash(block.hash).ok_or("hash")?,
        parent_hash: quantity::hash(block.parent_hash).ok_or("parentHash")?,
        mined_at: mined_at.ok_or("timestamp")?,
    })
}

/// A block with its transactions.
pub(super) fn body(network: Network, block: &WireBlock<'_>) -> Result<Body, &'static str> {
    let header = header(block)?;
    let bloom = Bloom::parse(block.logs_bloom).ok_or("logsBloom")?;
    let raw = &block.transactions;
    let (transactions, unreadable) = each(network, &header, "transaction", raw, transaction);
    if is_hopeless(transactions.len(), unreadable) {
        return Err("transactions");
    }
    let commits_to_nothing = block.transactions_root.is_none_or(|root| root == EMPTY_ROOT);
    Ok(Body { header, bloom, transactions, unreadable, commits_to_nothing })
}

/// The receipts in `raw`; `None` if the node seems to speak of something else.
pub(super) fn outcomes(network: Network, at: &BlockRef, raw: &[&RawValue]) -> Option<Outcomes> {
    let read = |raw: &RawValue| receipt(network, at, raw);
    let (receipts, unreadable) = each(network, at, "receipt", raw, read);
    (!is_hopeless(receipts.len(), unreadable)).then_some(Outcomes { receipts, unreadable })
}

/// One odd entry is the chain's, all of them is a node that we do not understand at all.
const fn is_hopeless(readable: usize, unreadable: usize) -> bool {
    readable == 0 && unreadable > 1
}

impl Outcomes {
    /// Returns whether anything in the receipts could not be read.
    pub(super) fn has_gap(&self) -> bool {
        self.unreadable > 0 || self.receipts.iter().any(|r| r.logs.iter().any(Option::is_none))
    }
}

/// Reads entries one by one; the log names an unreadable one by its place in the block.
fn each<T>(
    network: Network,
    at: &BlockRef,
    kind: &'static str,
    raw: &[&RawValue],
    read: impl Fn(&RawValue) -> Result<T, String>,
) -> (Vec<T>, usize) {
    let place = Place { network, height: at.height, block_hash: &at.hash, kind };
    let readable: Vec<T> = place.each(raw, read).into_iter().flatten().collect();
    let unreadable = raw.len() - readable.len();
    (readable, unreadable)
}

fn transaction(raw: &RawValue) -> Result<Transaction, String> {
    let wire: WireTransaction = serde_json::from_str(raw.get()).map_err(|e| e.to_string())?;
    let address = |text: Option<&str>, field: &str| {
        text.map(|text| quantity::address(text).ok_or_else(|| field.to_owned())).transpose()
    };
    let to = address(wire.to, "to")?;
    let from = address(wire.from, "from")?;
    let value = quantity::amount(wire.value.unwrap_or("0x0")).ok_or("value")?;
    let nobody = |address: &Option<String>| address.as_deref() == Some(quantity::ZERO_ADDRESS);
    Ok(Transaction {
        hash: quantity::hash(wire.hash).ok_or("hash")?,
        is_system: nobody(&from) && nobody(&to),
        payment: to.filter(|_| moves(&value)).map(|to| (to, value)),
        from,
    })
}

fn receipt(network: Network, at: &BlockRef, raw: &RawValue) -> Result<Receipt, String> {
    let wire: WireReceipt = serde_json::from_str(raw.get()).map_err(|e| e.to_string())?;
    let tx_hash = quantity::hash(wire.transaction_hash).ok_or("transactionHash")?;
    Ok(Receipt {
        block_hash: quantity::hash(wire.block_hash).ok_or("blockHash")?,
        // Anything but a plain yes is a no.
        succeeded: wire.status.and_then(quantity::number) == Some(1),
        logs: wire.logs.into_iter().map(|raw| log(network, at, &tx_hash, raw)).collect(),
        tx_hash,
    })
}

/// One log, or `None` and a warning if it cannot be read.
pub(super) fn log(network: Network, at: &BlockRef, tx_hash: &str, raw: &RawValue) -> Option<Log> {
    let log = readable_log(raw);
    if log.is_none() {
        count_unreadable(network);
        let height = at.height;
        warn!(
            %network, height, tx.hash = tx_hash,
            "a log of {tx_hash} in block {height} of {network} cannot be read and is left out"
        );
    }
    log
}

fn readable_log(raw: &RawValue) -> Option<Log> {
    let wire: WireLog = serde_json::from_str(raw.get()).ok()?;
    let topics: Option<Vec<_>> = wire.topics.into_iter().map(quantity::hash).collect();
    Some(Log {
        contract: quantity::address(wire.address)?,
        topics: topics?,
        data: wire.data.to_owned(),
        index: wire.log_index.and_then(quantity::number),
        is_removed: wire.removed.unwrap_or(false),
    })
}

fn moves(amount: &TransferAmount) -> bool {
    !matches!(amount, TransferAmount::Units(units) if units.is_zero())
}

/// Everything that moved: native value first, then tokens, each in the order of the block.
pub(super) fn transfers(transactions: &[Transaction], receipts: &[Receipt]) -> Vec<Transfer> {
    let succeeded: std::collections::HashSet<&str> =
        receipts.iter().filter(|r| r.succeeded).map(|r| r.tx_hash.as_str()).collect();
    let native =
        transactions.iter().filter(|tx| succeeded.contains(tx.hash.as_str())).filter_map(|tx| {
            let (to, amount) = tx.payment.clone()?;
            Some(Transfer {
                key: format!("{}:native", tx.hash),
                tx_hash: tx.hash.clone(),
                to,
                from: tx.from.clone(),
                asset: TransferAsset::Native,
                amount,
                maturity: 1,
                spends: Arc::default(),
            })
        });
    let tokens = receipts.iter().filter(|receipt| receipt.succeeded).flat_map(|receipt| {
        receipt
            .logs
            .iter()
            .enumerate()
            .filter_map(|(k, log)| token_transfer(&receipt.tx_hash, k, log.as_ref()?))
    });
    native.chain(tokens).collect()
}

/// An event is a token payment only in the exact shape of ERC-20: three topics (ERC-721 has four),
/// one word of data.
fn token_transfer(tx_hash: &str, k: usize, log: &Log) -> Option<Transfer> {
    let [topic, from, to] = log.topics.as_slice() else { return None };
    if topic != TRANSFER_TOPIC || log.is_removed {
        return None;
    }
    let amount = quantity::amount_in_word(&log.data).filter(moves)?;
    Some(Transfer {
        key: format!("{tx_hash}:log:{k}"),
        tx_hash: tx_hash.to_owned(),
        to: quantity::address_in_word(to)?,
        from: quantity::address_in_word(from),
        asset: TransferAsset::Contract(log.contract.clone()),
        amount,
        maturity: 1,
        spends: Arc::default(),
    })
}
