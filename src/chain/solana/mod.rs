//! Solana, read over JSON-RPC by slot. Blocks count at commitment `finalized`; they are read at
//! `confirmed` already, to show payments some seconds earlier.
//!
//! Finalized blocks are never reverted, so a height has one meaning for ever. A height is a slot,
//! and some slots have no block: their leader missed them. Such a slot is read as an empty block
//! whose hash is derived from the block before it, so that neither heights nor the chain of hashes
//! have gaps. It counts as empty only once a later block names an earlier one as its parent.
//!
//! The payment of a transaction is the difference of balances before and after it. That is right
//! for payments by programs, for several in one transaction, and for tokens with a transfer fee.
//! Tokens lie in separate accounts, which name their owner and their mint.
//!
//! No response lets a reader prove that a node omitted no transaction: blocks commit to their
//! content in a way that can be verified only with the whole ledger. Where that matters, give the
//! network witnesses. One fault is visible: blocks of the main cluster are full, so a block without
//! transactions counts only once the node shows content in a later one.
//!
//! - `source`: the calls. `wire`: the tolerant types. `decode`: from transactions to transfers,
//!   without io.

mod decode;
mod lookup;
mod source;
mod wire;

pub use source::SolanaSource;

#[cfg(test)]
mod fixture;
