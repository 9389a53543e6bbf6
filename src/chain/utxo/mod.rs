//! Bitcoin, litecoin and dogecoin, read over JSON-RPC from a full node. No wallet of the node is touched.
//!
//! A block is named by its height once, everything else is read by its hash, so that all of an answer belongs to one
//! block. Outputs are reported by the address that their script pays, spelt by us: nodes of different ages write
//! addresses differently or not at all. Amounts are read from the digits that the node wrote.
//!
//! - `source`: the calls. `wire`: the tolerant shapes. `decode`: from a block to transfers, without io.
//! - `lookup`: where one transaction stands. `scan`: what addresses hold.
//! - `chain`: what sets the three networks apart. `mempool`: what waits for a block, remembered between looks.

mod chain;
mod decode;
mod lookup;
mod mempool;
mod scan;
mod source;
mod wire;

pub(super) use lookup::locate;
pub use source::UtxoSource;

use crate::asset::Network;

/// The hash of a network's first block; `None` for a network of another family.
pub(super) fn genesis(network: Network) -> Option<String> {
    chain::Chain::of(network).map(|chain| chain.genesis)
}

/// The confirmations that a block's reward needs before it can be spent; `None` for a network of another family.
pub(super) fn coinbase_maturity(network: Network) -> Option<u64> {
    chain::Chain::of(network).map(|chain| chain.coinbase_maturity)
}

/// A hash as we spell it; `None` for a text that is none.
pub(super) fn hash_of(text: &str) -> Option<String> {
    decode::hash(text)
}

/// Whether these are all the transactions that a header commits to.
pub(super) fn is_merkle_root(hashes: &[String], root: &str) -> bool {
    let digests: Option<Vec<_>> = hashes.iter().map(|hash| decode::digest(hash)).collect();
    digests.is_some_and(|digests| Some(decode::merkle_root(digests)) == decode::digest(root))
}

#[cfg(test)]
mod fixture;
