//! From a node's answer to transfers, without io.
//!
//! A transaction or an output that cannot be read is put aside with a warning; it never stops its
//! block. The merkle root of the header shows that no transaction is missing.

use std::sync::Arc;

use bitcoin::OutPoint;
use chrono::DateTime;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use tracing::warn;

use super::{
    chain::{Chain, PEG_OUT_MATURITY},
    wire::{WireBlock, WireInput, WireOutput, WireTransaction},
};
use crate::{
    asset::address,
    chain::{BlockRef, Transfer, TransferAmount, TransferAsset, entries::count_unreadable},
    money::BaseUnits,
};

/// Decimal places of all three coins.
pub(super) const DECIMALS: u32 = 8;
/// The value that stands for the parent of a first block.
const NO_PARENT: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// One transaction's outputs that pay an address.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Transaction {
    pub txid: String,
    pub spends: Arc<[OutPoint]>,
    pub outputs: Vec<Output>,
    /// Whether it brings coins out of litecoin's extension block (the block's last one, the
    /// "HogEx").
    is_peg_out: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Output {
    pub n: u32,
    pub to: Box<str>,
    pub amount: BaseUnits,
}

/// The header of a block that was asked for; the error is the name of the field that cannot be
/// read.
pub(super) fn header(block: &WireBlock<'_>) -> Result<BlockRef, &'static str> {
    let parent_hash = match block.previous_block_hash {
        Some(text) => hash(text).ok_or("previousblockhash")?,
        None if block.height == 0 => NO_PARENT.to_owned(),
        None => return Err("previousblockhash"),
    };
    Ok(BlockRef {
        height: block.height,
        hash: hash(block.hash).ok_or("hash")?,
        parent_hash,
        mined_at: DateTime::from_timestamp(block.time, 0).ok_or("time")?,
    })
}

/// All value that moves in a block; the error describes a fault of the block.
pub(super) fn transfers(chain: &Chain, block: &WireBlock<'_>) -> Result<Vec<Transfer>, String> {
    let mut txids = Vec::with_capacity(block.transactions.len());
    let mut transfers = Vec::new();
    for (position, raw) in block.transactions.iter().enumerate() {
        let transaction = match transaction(chain, Some(block.height), raw) {
            Ok(transaction) => transaction,
            Err(reason) => {
                let (network, height, hash) = (chain.network, block.height, block.hash);
                count_unreadable(network);
                warn!(
                    %network, height, block.hash = hash, position, reason,
                    "transaction {position} of block {height} of {network} ({hash}) cannot be read and is left out: {reason}"
                );
                // Its id alone is still worth something: the others can be proven to be complete.
                txids.push(txid_of(raw));
                continue;
            }
        };
        let maturity = match position {
            0 => chain.coinbase_maturity,
            _ if transaction.is_peg_out => PEG_OUT_MATURITY,
            _ => 1,
        };
        txids.push(digest(&transaction.txid));
        transfers.extend(transaction.transfers(maturity));
    }
    check_completeness(block, txids)?;
    Ok(transfers)
}

impl Transaction {
    #[cfg(test)]
    pub fn new(txid: String, outputs: Vec<Output>) -> Self {
        Self { txid, spends: Arc::default(), outputs, is_peg_out: false }
    }

    pub fn transfers(&self, maturity: u64) -> impl Iterator<Item = Transfer> {
        self.outputs.iter().map(move |output| output.transfer(&self.txid, &self.spends, maturity))
    }
}

impl Output {
    pub fn transfer(&self, txid: &str, spends: &Arc<[OutPoint]>, maturity: u64) -> Transfer {
        Transfer {
            key: format!("{txid}:{}", self.n),
            tx_hash: txid.to_owned(),
            to: self.to.to_string(),
            from: None,
            asset: TransferAsset::Native,
            amount: TransferAmount::Units(self.amount),
            maturity,
            spends: spends.clone(),
        }
    }
}

/// Reads one transaction of the block at `height`, or of the mempool.
pub(super) fn transaction(
    chain: &Chain,
    height: Option<u64>,
    raw: &RawValue,
) -> Result<Transaction, String> {
    let wire: WireTransaction = serde_json::from_str(raw.get()).map_err(|e| e.to_string())?;
    let txid = hash(wire.txid).ok_or("txid")?;
    let mut outputs = Vec::with_capacity(wire.outputs.len());
    let mut is_peg_out = false;
    for (position, raw) in wire.outputs.iter().enumerate() {
        match output(chain, raw) {
            Ok(Read::Payment(output)) => outputs.push(output),
            Ok(Read::ExtensionBlock) => is_peg_out |= position == 0 && chain.has_extension_block,
            Ok(Read::Nothing) => {}
            Err(field) => {
                let network = chain.network;
                let place = height.map_or_else(
                    || "the mempool".to_owned(),
                    |height| {
                        count_unreadable(network);
                        format!("block {height}")
                    },
                );
                warn!(
                    %network, height, tx.hash = txid, position,
                    "output {position} of {txid} in {place} of {network} cannot be read and is left out: {field}"
                );
            }
        }
    }
    let spends = if outputs.is_empty() { Arc::default() } else { spends(&wire) };
    Ok(Transaction { txid, spends, outputs, is_peg_out })
}

/// Inputs of a transaction that are kept, the smallest ones. Its sender decides how many there are,
/// and a replacement (replace-by-fee) usually keeps those of the transaction that it replaces.
const SPENDS_MAX: usize = 16;

/// The first outputs that a transaction spends, sorted. An input that cannot be read is
/// left out: it only shows which transaction takes the place of another, and amounts are in the
/// outputs.
fn spends(wire: &WireTransaction<'_>) -> Arc<[OutPoint]> {
    let read = |raw: &&RawValue| {
        let input: WireInput = serde_json::from_str(raw.get()).ok()?;
        Some(OutPoint { txid: input.txid.parse().ok()?, vout: input.vout })
    };
    let mut spends: Vec<_> = wire.inputs.iter().filter_map(read).collect();
    spends.sort_unstable();
    spends.truncate(SPENDS_MAX);
    spends.into()
}

/// The meaning of one output for us.
enum Read {
    Payment(Output),
    /// Holds the content of litecoin's extension block.
    ExtensionBlock,
    Nothing,
}

fn output(chain: &Chain, raw: &RawValue) -> Result<Read, String> {
    let wire: WireOutput = serde_json::from_str(raw.get()).map_err(|e| e.to_string())?;
    if wire.in_extension_block {
        return Ok(Read::Nothing);
    }
    let script = wire.script.and_then(|script| hex::decode(script.hex).ok());
    let script = script.ok_or("scriptPubKey.hex")?;
    if is_extension_block_script(&script) {
        return Ok(Read::ExtensionBlock);
    }
    let n = wire.n.ok_or("n")?;
    let value = wire.value.ok_or("value")?;
    let amount = BaseUnits::parse(value.get(), DECIMALS).map_err(|e| format!("value: {e}"))?;
    let to = address::of_script(chain.network, chain.realm, &script);
    Ok(match to {
        Some(to) if !amount.is_zero() => {
            Read::Payment(Output { n, to: to.into_boxed_str(), amount })
        }
        _ => Read::Nothing,
    })
}

/// Version 8 of witness programs, with a hash: the address of litecoin's extension block, which
/// only a HogEx may pay.
fn is_extension_block_script(script: &[u8]) -> bool {
    const OP_8: u8 = 0x58;
    matches!(script, [OP_8, 32, rest @ ..] if rest.len() == 32)
}

/// 64 hex digits in lower case, as nodes write hashes.
pub(super) fn hash(text: &str) -> Option<String> {
    let fits = text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
    fits.then(|| text.to_ascii_lowercase())
}

/// The hash in the order of its bytes: texts write them backwards.
pub(super) fn digest(hash: &str) -> Option<[u8; 32]> {
    let mut digest = [0; 32];
    hex::decode_to_slice(hash, &mut digest).ok()?;
    digest.reverse();
    Some(digest)
}

fn txid_of(raw: &RawValue) -> Option<[u8; 32]> {
    #[derive(serde::Deserialize)]
    struct Named<'a> {
        txid: &'a str,
    }
    serde_json::from_str::<Named>(raw.get()).ok().and_then(|named| digest(named.txid))
}

/// Checks that the transactions are those that the header commits to. With a nameless one among
/// them nothing can be said.
fn check_completeness(block: &WireBlock<'_>, txids: Vec<Option<[u8; 32]>>) -> Result<(), String> {
    let count = txids.len();
    let known: Vec<[u8; 32]> = txids.into_iter().flatten().collect();
    if known.is_empty() {
        return Err(format!("none of its {count} transactions can be read"));
    }
    if known.len() == count && Some(merkle_root(known)) != digest(block.merkle_root) {
        return Err("its transactions are not those that its header commits to".to_owned());
    }
    Ok(())
}

/// Pairs are hashed together until one is left; a last one without a partner is its own.
pub(super) fn merkle_root(mut level: Vec<[u8; 32]>) -> [u8; 32] {
    while level.len() > 1 {
        level = level
            .chunks(2)
            .map(|pair| {
                let (left, right) = (pair[0], pair[pair.len() - 1]);
                Sha256::digest(Sha256::digest([left, right].concat())).into()
            })
            .collect();
    }
    level.first().copied().unwrap_or_default()
}
