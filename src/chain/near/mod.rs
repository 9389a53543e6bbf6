//! NEAR, read from a server of finalized blocks in the neardata format (`fastnear/neardata-server`,
//! which anyone can run, or FastNEAR's own). The chain's plain RPC has the same content in one call
//! per shard and one per outcome.
//!
//! Value is read from receipts, not from transactions: contracts pay too, and a transfer counts
//! where it was executed. Counted are `Transfer` actions of receipts whose outcome is a success,
//! and `ft_transfer` and `ft_mint` events of NEP-141 tokens. Receipts of `system` are refunds of
//! gas. Transfers by `ft_transfer_call` are not counted: they reach an address of ours only to be
//! returned, because it has no contract to accept them.
//!
//! Heights may be skipped. For such a height, [`block`](super::ChainSource::block) returns the next
//! existing block, whose own `prev_height` must show that no block lies between.
//!
//! Checks on a server: every chunk that the block includes must be there, and the outcomes of each
//! shard must agree in one Merkle root, with none missing. A block with a shard without outcomes
//! counts once the next block's chunk of that shard confirms it, by the root that it commits to;
//! until then the previous block is the chain tip. A shard without a chunk in the next block gives
//! no proof. Nothing proves the amounts that a receipt pays, and a server that invents a whole tree
//! is believed: where that matters, give the network witnesses.
//!
//! Sources of the format: the server's documentation and source, and the streamer messages of
//! NEAR's own indexer framework, which the format repeats. No live server has been seen.
//!
//! Balances are available only from a node's own JSON-RPC, so they are compared where one is
//! configured as well (`state_url`).
//!
//! - `source`: the calls. `state`: the calls to such a node. `wire`: the tolerant types. `decode`:
//!   from outcomes to transfers, without io.
//! - `proof`: consistency of the outcomes of a block.

mod decode;
mod proof;
mod source;
mod state;
mod wire;

pub use source::NearSource;
