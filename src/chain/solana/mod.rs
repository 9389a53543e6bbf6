//! Solana, read over JSON-RPC by slot, at commitment `finalized`.
//!
//! What is finalized is never taken back, so a height means one thing for ever. A height is a slot, and some slots have
//! no block: their leader missed them. Such a slot is read as an empty block whose hash is made up from the block before
//! it, so that heights stay without gaps and the chain of hashes with them; it counts as empty only once a later block
//! names an earlier one as its parent.
//!
//! What a transaction paid is the difference of balances before and after it: right for payments by programs, for
//! several in one transaction, for tokens that take a fee. Tokens lie in accounts of their own, which name their owner
//! and their mint.
//!
//! Nothing in an answer lets a reader prove that a node left no transaction out: its blocks commit to their content in a way
//! that only the whole ledger shows. Where that matters, give the network witnesses. One thing shows: blocks of the main
//! cluster are full, so one without a transaction counts only once the node shows content in a later one.
//!
//! - `source`: the calls. `wire`: the tolerant shapes. `decode`: from transactions to transfers, without io.

mod decode;
mod lookup;
mod source;
mod wire;

pub use source::SolanaSource;

#[cfg(test)]
mod fixture;
