//! THORChain, read over the RPC of its CometBFT node.
//!
//! Two calls a block: `/block` has the hash, the chain's name and the bytes of the transactions, `/block_results`
//! has what they did. Value is read from `transfer` events alone: those of transactions that succeeded, and those of
//! the block itself, because RUNE bought in a swap is paid out by a module at the end of a block and by nobody's
//! transaction. A committed block is final.
//!
//! No header commits to events. What can be held against a node is: the transactions are those of the header's
//! `data_hash`, each has exactly one result, a transaction that was executed left some event, and so did the block by
//! itself, since every one pays rewards; one that did not counts once the node's newest block shows such events. A node
//! that leaves out single events is believed: where that matters, give the network witnesses.
//!
//! Where the shapes come from: the CometBFT documentation and recorded replies of other Cosmos chains (see `decode`);
//! no THORChain node has been seen live.
//!
//! - `source`: the calls. `wire`: the tolerant shapes. `decode`: from results to transfers, without io.
//! - `evidence`: what two answers must have in common. `balance`: a question to the bank module, in bytes.

mod balance;
mod decode;
mod evidence;
mod source;
mod wire;

pub use source::ThorchainSource;
