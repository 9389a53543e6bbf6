//! Consistency proof of the outcomes of a block, without io.
//!
//! All outcomes of a shard, including those of its transactions, are leaves of one Merkle tree, and
//! each comes with its path to the root. A path halves the tree at every step, so the lengths of
//! the paths show if a leaf is missing; and an altered outcome leads to a different root than the
//! others.

use std::collections::{HashMap, HashSet};

use base64::{Engine, prelude::BASE64_STANDARD};
use sha2::{Digest, Sha256};

use super::wire::{
    WireDocument, WireOutcomeProven, WireOutcomeWithProof, WireProven, WireShard, WireStatus,
    WireStep, WireTransaction,
};

type Hash = [u8; 32];
/// Far more than any shard needs for its outcomes of one block.
const STEPS_MAX: usize = 63;

/// An outcome as a leaf of the tree.
struct Leaf<'a> {
    id: &'a str,
    /// Number of steps to the root.
    depth: usize,
    /// The root computed from the outcome's content and its path.
    root: Hash,
}

/// Checks the outcomes of a block; the error names the contradiction.
pub(super) fn check(document: &WireDocument<'_>) -> Result<(), String> {
    let (mut is_rule_known, mut altered) = (false, None);
    for shard in &document.shards {
        // An outcome that cannot be read is skipped elsewhere, with a warning; here it proves
        // nothing.
        let Some(leaves) = leaves(shard) else { continue };
        if is_partial(&leaves) {
            return Err(format!("outcomes of shard {} are missing", shard.shard_id));
        }
        let mut votes: HashMap<Hash, usize> = HashMap::new();
        leaves.iter().for_each(|leaf| *votes.entry(leaf.root).or_default() += 1);
        is_rule_known |= votes.values().any(|votes| *votes > 1);
        if votes.len() > 1 {
            altered = altered.or(Some(shard.shard_id));
        }
    }
    // Two outcomes lead to the same root only if the network still hashes outcomes as this code
    // does. Without such a pair the network may have changed its rule, so a mismatch proves no
    // alteration.
    match altered {
        Some(shard) if is_rule_known => Err(format!("an outcome of shard {shard} was altered")),
        _ => Ok(()),
    }
}

/// Each outcome once; `None` if one of them cannot be read.
fn leaves<'a>(shard: &WireShard<'a>) -> Option<Vec<Leaf<'a>>> {
    let mut seen = HashSet::new();
    let mut leaves = Vec::new();
    let transactions = shard.chunk.iter().flat_map(|chunk| &chunk.transactions);
    for raw in transactions {
        let transaction: WireTransaction = serde_json::from_str(raw.get()).ok()?;
        leaves.push(leaf(&transaction.outcome.execution_outcome)?);
    }
    for raw in &shard.receipt_execution_outcomes {
        let proven: WireProven = serde_json::from_str(raw.get()).ok()?;
        leaves.push(leaf(&proven.execution_outcome)?);
    }
    leaves.retain(|leaf| seen.insert(leaf.id));
    Some(leaves)
}

fn leaf<'a>(outcome: &WireOutcomeWithProof<'a>) -> Option<Leaf<'a>> {
    if outcome.proof.len() > STEPS_MAX {
        return None;
    }
    let mut root = hashed(outcome)?;
    for WireStep { hash: other, direction } in &outcome.proof {
        let other = hash(other)?;
        root = match *direction {
            "Left" => both(&other, &root),
            "Right" => both(&root, &other),
            _ => return None,
        };
    }
    Some(Leaf { id: outcome.id, depth: outcome.proof.len(), root })
}

/// True if a leaf is missing. A complete tree has half of its leaves below either side of its root,
/// and so on downwards. A server that leaves out all paths appears to have more than one tree.
fn is_partial(leaves: &[Leaf<'_>]) -> bool {
    const WHOLE: u128 = 1 << STEPS_MAX;
    let share: u128 = leaves.iter().map(|leaf| WHOLE >> leaf.depth).sum();
    !leaves.is_empty() && share < WHOLE
}

fn both(left: &Hash, right: &Hash) -> Hash {
    Sha256::new().chain_update(left).chain_update(right).finalize().into()
}

/// The leaf hash as in nearcore: of the hashes of the id, of the outcome and of each line of its
/// log.
fn hashed(outcome: &WireOutcomeWithProof<'_>) -> Option<Hash> {
    let logs = &outcome.outcome.logs;
    let count = u32::try_from(logs.len() + 2).ok()?;
    let mut all = Sha256::new()
        .chain_update(count.to_le_bytes())
        .chain_update(hash(outcome.id)?)
        .chain_update(Sha256::digest(encoded(&outcome.outcome)?));
    for line in logs {
        all.update(Sha256::digest(line.as_bytes()));
    }
    Some(all.finalize().into())
}

/// The outcome in borsh, without the parts that are specific to a node: logs, gas profiles, reasons
/// of failure.
fn encoded(outcome: &WireOutcomeProven<'_>) -> Option<Vec<u8>> {
    let length = |length: usize| u32::try_from(length).ok().map(u32::to_le_bytes);
    let mut bytes = length(outcome.receipt_ids.len())?.to_vec();
    for id in &outcome.receipt_ids {
        bytes.extend(hash(id)?);
    }
    bytes.extend(outcome.gas_burnt.to_le_bytes());
    bytes.extend(outcome.tokens_burnt.parse::<u128>().ok()?.to_le_bytes());
    bytes.extend(length(outcome.executor_id.len())?);
    bytes.extend(outcome.executor_id.as_bytes());
    match &outcome.status {
        WireStatus::Unknown => bytes.push(0),
        WireStatus::Failure(_) => bytes.push(1),
        WireStatus::SuccessValue(value) => {
            let value = BASE64_STANDARD.decode(value.as_bytes()).ok()?;
            bytes.push(2);
            bytes.extend(length(value.len())?);
            bytes.extend(value);
        }
        WireStatus::SuccessReceiptId(id) => {
            bytes.push(3);
            bytes.extend(hash(id)?);
        }
    }
    Some(bytes)
}

fn hash(base58: &str) -> Option<Hash> {
    let mut hash = [0; 32];
    (bs58::decode(base58).onto(&mut hash) == Ok(32)).then_some(hash)
}

#[cfg(test)]
mod tests;
