//! Bitcoin, litecoin and dogecoin, read over JSON-RPC from a full node. No wallet of the node is touched.
//!
//! A block is named by its height once, everything else is read by its hash, so that all of an answer belongs to one
//! block. Outputs are reported by the address that their script pays, spelt by us: nodes of different ages write
//! addresses differently or not at all. Amounts are read from the digits that the node wrote.
//!
//! - `source`: the calls. `wire`: the tolerant shapes. `decode`: from a block to transfers, without io.
//! - `chain`: what sets the three networks apart. `mempool`: what waits for a block, remembered between looks.

mod chain;
mod decode;
mod lookup;
mod mempool;
mod source;
mod wire;

pub use source::UtxoSource;

#[cfg(test)]
mod fixture;
