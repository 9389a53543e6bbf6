//! Bitcoin, litecoin and dogecoin, read over JSON-RPC from a full node. The node's wallet is not
//! used.
//!
//! A block is named by its height once; everything else is read by its hash, so that all parts
//! belong to one block. Outputs are reported by the address of their script, in our own spelling:
//! nodes of different ages write addresses differently or not at all. Amounts are parsed from the
//! node's digits.
//!
//! - `source`: the calls. `wire`: the tolerant types. `decode`: from a block to transfers, without
//!   io.
//! - `lookup`: lookup of one transaction. `scan`: balances of addresses.
//! - `chain`: parameters of the three networks. `mempool`: pending transactions, remembered between
//!   looks.

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

/// Confirmations that a coinbase needs before it can be spent; `None` for a network of another
/// family.
pub(super) fn coinbase_maturity(network: Network) -> Option<u64> {
    chain::Chain::of(network).map(|chain| chain.coinbase_maturity)
}

/// A hash in our spelling; `None` if the text is not a hash.
pub(super) fn hash_of(text: &str) -> Option<String> {
    decode::hash(text)
}

/// True if these are all the transactions that a header commits to.
pub(super) fn is_merkle_root(hashes: &[String], root: &str) -> bool {
    let digests: Option<Vec<_>> = hashes.iter().map(|hash| decode::digest(hash)).collect();
    digests.is_some_and(|digests| Some(decode::merkle_root(digests)) == decode::digest(root))
}

#[cfg(test)]
mod fixture;
