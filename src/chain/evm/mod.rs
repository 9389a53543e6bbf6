//! Ethereum and its six relatives, read over JSON-RPC.
//!
//! A block is fetched by its number, everything else about it by its hash: a reorg between two
//! calls then ends in an error instead of a mixture. The adapter reads the native value of
//! successful top-level transactions, and `Transfer` events of ERC-20 shape. Native value that
//! contracts send on shows in no block; it is found by its balance
//! ([`ChainSource::native_balances`](super::ChainSource::native_balances)).
//!
//! - `source`: the calls. `wire`: the tolerant shapes. `decode`: from a block to transfers, without
//!   io.
//! - `evidence`: the proof that a node must give before a block without transfers is believed.
//!   `bloom`: the filter in headers that it is held against. `balance`: balances in bulk.
//! - `abilities`: the optional methods of a node. `recording`: a block kept as text, through the
//!   same steps.
//! - `quantity`: hex numbers and names, exactly.

mod abilities;
mod balance;
mod bloom;
mod decode;
mod evidence;
mod lookup;
pub(in crate::chain) mod quantity;
mod recording;
mod source;
mod wire;

pub use abilities::Abilities;
pub use recording::read_recording;
pub use source::EvmSource;
pub(in crate::chain) use source::Proof;

#[cfg(test)]
mod fixture;
