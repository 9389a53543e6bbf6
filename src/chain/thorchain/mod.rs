//! THORChain, read over the RPC of its CometBFT node.
//!
//! Two calls per block: `/block` has the hash, the chain's name and the bytes of the transactions,
//! `/block_results` has their effects. Value is read from `transfer` events alone: those of
//! successful transactions, and those of the block itself, because RUNE bought in a swap is paid
//! out by a module at the end of a block, without a transaction. A committed block is final.
//!
//! No header commits to events. Checks on a node: the transactions are those of the header's
//! `data_hash`, each has exactly one result, and an executed transaction has some event. So has the
//! block itself, since every block pays rewards; a block without such events counts once the node's
//! newest block shows them. A node that omits single events is believed: where that matters, give
//! the network witnesses.
//!
//! Sources of the formats: the CometBFT documentation and recorded replies of other Cosmos chains
//! (see `decode`); no THORChain node has been seen live.
//!
//! - `source`: the calls. `wire`: the tolerant types. `decode`: from results to transfers, without
//!   io.
//! - `evidence`: consistency of the two responses. `balance`: a query to the bank module, in bytes.

mod balance;
mod decode;
mod evidence;
mod source;
mod wire;

pub use source::ThorchainSource;
