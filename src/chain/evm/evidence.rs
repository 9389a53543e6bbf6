//! Proof that a node must give before a block counts as without payments to us.
//!
//! Nodes behind load balancers answer too early and drop logs silently, so a response is checked
//! against the header of its block: every transaction has its receipt, log positions have no gaps,
//! and the header's bloom filter, which the block hash commits to, covers exactly the served logs.
//! Rebuilding the receipts root would prove more, but needs the encoding of every receipt type of
//! every chain, and would stall on each new one.
//!
//! On Avalanche the filter has belonged to other blocks since Helicon ([`HELICON_AT`]), so logs
//! dropped at the end of a block, or all logs of a block, go undetected there. A witness detects
//! them.

use std::collections::HashSet;

use sha3::{Digest, Keccak256};

use super::{
    bloom::Bloom,
    decode::{Body, Outcomes, Receipt, Transaction},
};
use crate::{asset::Network, chain::BlockRef};

/// Time since which Avalanche orders blocks first and executes them afterwards (ACP-194, Helicon of
/// 2026-09-22 15:00 UTC). Since then the bloom and the receipts root of a header belong to the
/// blocks that it settles, some seconds older, while `eth_getBlockReceipts` and `eth_getLogs` still
/// return the block's own.
const HELICON_AT: i64 = 1_790_089_200;

/// Checks receipts against the body they belong to; the error names the contradiction.
pub(super) fn check(network: Network, body: &Body, outcomes: &Outcomes) -> Result<(), String> {
    if body.transactions.is_empty() && body.unreadable == 0 && !body.commits_to_nothing {
        return Err("the header commits to transactions that were not served".to_owned());
    }
    pairing(network, body, outcomes)?;
    let (committed, state_sync) = committed(network, body, outcomes);
    log_positions(&committed, outcomes.unreadable > 0)?;
    if filters_other_blocks(network, &body.header) {
        return Ok(());
    }
    let mut served = Bloom::EMPTY;
    served.add(names(&committed));
    if !body.bloom.covers(&served) {
        return Err("there are logs that the header does not commit to".to_owned());
    }
    served.add(names(&state_sync));
    let has_gap = body.unreadable > 0 || outcomes.has_gap();
    if !has_gap && !served.covers(&body.bloom) {
        return Err("the header commits to logs that were not served".to_owned());
    }
    Ok(())
}

/// The contracts and topics of the logs, as they stand in a header's filter.
fn names<'a>(receipts: &[&'a Receipt]) -> impl Iterator<Item = &'a str> {
    let logs = receipts.iter().flat_map(|receipt| receipt.logs.iter().flatten());
    let counted = logs.filter(|log| !log.is_removed);
    counted.flat_map(|log| std::iter::once(&log.contract).chain(&log.topics)).map(String::as_str)
}

/// True if the header's filter covers the logs of other blocks. The time decides and not the
/// header's `settledHeight`: a proxy before a node may omit a field that no other network has, and
/// every block would be refused.
///
/// The logs of the settled blocks could be checked against it once they are known, but by then they
/// are recorded.
fn filters_other_blocks(network: Network, header: &BlockRef) -> bool {
    network == Network::Avalanche && header.mined_at.timestamp() >= HELICON_AT
}

/// The receipts whose logs the header commits to, and those whose logs it may leave out.
///
/// Polygon serves the logs of its state sync with the block, but its older blocks commit to them
/// neither in the bloom nor in the receipts root, and clients disagree on how to list them.
fn committed<'a>(
    network: Network,
    body: &Body,
    outcomes: &'a Outcomes,
) -> (Vec<&'a Receipt>, Vec<&'a Receipt>) {
    if network != Network::Polygon {
        return (outcomes.receipts.iter().collect(), Vec::new());
    }
    let of_users = body.transactions.iter().filter(|tx| !tx.is_system);
    let of_users: HashSet<&str> = of_users.map(|tx| tx.hash.as_str()).collect();
    outcomes.receipts.iter().partition(|receipt| of_users.contains(receipt.tx_hash.as_str()))
}

/// Every transaction has exactly one receipt of this very block, and there are no others.
fn pairing(network: Network, body: &Body, outcomes: &Outcomes) -> Result<(), String> {
    let mut received = HashSet::new();
    for receipt in &outcomes.receipts {
        let tx_hash = &receipt.tx_hash;
        if receipt.block_hash != body.header.hash {
            return Err(format!("the receipt of {tx_hash} is of block {}", receipt.block_hash));
        }
        if !received.insert(tx_hash.as_str()) {
            return Err(format!("transaction {tx_hash} has two receipts"));
        }
    }
    let mut listed = HashSet::new();
    for tx in &body.transactions {
        if !listed.insert(tx.hash.as_str()) {
            return Err(format!("transaction {} is listed twice", tx.hash));
        }
    }
    let is_polygon = network == Network::Polygon;
    let needs_receipt = |tx: &&Transaction| !(is_polygon && tx.is_system);
    let mut expected = body.transactions.iter().filter(needs_receipt);
    let lost = expected.find(|tx| !received.contains(tx.hash.as_str()));
    if let Some(tx) = lost.filter(|_| outcomes.unreadable == 0) {
        return Err(format!("transaction {} has no receipt", tx.hash));
    }
    let state_sync = is_polygon.then(|| state_sync_hash(&body.header));
    let mut strays = received.difference(&listed);
    let stray = strays.find(|tx_hash| Some(**tx_hash) != state_sync.as_deref());
    match stray.filter(|_| body.unreadable == 0) {
        Some(tx_hash) => Err(format!("there is a receipt of {tx_hash}, which is not in the block")),
        None => Ok(()),
    }
}

/// Hash under which nodes of Polygon list the state sync of a block that does not list it: bor
/// derives it from the block's own (`GetDerivedBorTxHash`).
fn state_sync_hash(header: &BlockRef) -> String {
    let block_hash = hex::decode(header.hash.trim_start_matches("0x")).unwrap_or_default();
    let hash = Keccak256::new()
        .chain_update("matic-bor-receipt-")
        .chain_update(header.height.to_be_bytes())
        .chain_update(block_hash)
        .finalize();
    format!("0x{}", hex::encode(hash))
}

/// A dropped log leaves a gap in the numbering of its block. Some nodes number within the
/// transaction instead.
fn log_positions(receipts: &[&Receipt], has_lost_receipts: bool) -> Result<(), String> {
    let mut before = 0;
    for receipt in receipts {
        let numbered = (0_u64..).zip(&receipt.logs);
        let mut starts = numbered.filter_map(|(position, log)| {
            log.as_ref()?.index.map(|index| index.checked_sub(position))
        });
        if let Some(start) = starts.next() {
            let is_known = start == Some(0) || start == Some(before);
            let is_allowed = is_known || (has_lost_receipts && start.is_some());
            if !is_allowed || starts.any(|other| other != start) {
                return Err(format!("the logs of {} are not numbered in a row", receipt.tx_hash));
            }
        }
        before += u64::try_from(receipt.logs.len()).unwrap_or(u64::MAX);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{super::decode::Log, *};

    /// A receipt whose logs carry these positions.
    fn receipt(indices: &[u64]) -> Receipt {
        let log = |index: &u64| {
            let (contract, data) = (String::new(), String::new());
            Some(Log { contract, topics: Vec::new(), data, index: Some(*index), is_removed: false })
        };
        let (tx_hash, block_hash) = (String::new(), String::new());
        Receipt { tx_hash, block_hash, succeeded: true, logs: indices.iter().map(log).collect() }
    }

    #[test]
    fn logs_are_numbered_in_a_row_through_the_block_or_through_each_transaction() {
        let cases: [(&[&[u64]], bool); 8] = [
            (&[&[0, 1, 2], &[3], &[], &[4, 5]], true),
            (&[&[0, 1, 2], &[0], &[0, 1]], true),
            (&[&[1, 2]], false),
            (&[&[0, 2]], false),
            (&[&[1, 0]], false),
            (&[&[0, 0]], false),
            (&[&[0], &[2]], false),
            (&[&[0, 1], &[1]], false),
        ];
        for (indices, is_allowed) in cases {
            let receipts: Vec<Receipt> = indices.iter().map(|indices| receipt(indices)).collect();
            let receipts: Vec<&Receipt> = receipts.iter().collect();
            assert_eq!(log_positions(&receipts, false).is_ok(), is_allowed, "{indices:?}");
        }
    }
}
