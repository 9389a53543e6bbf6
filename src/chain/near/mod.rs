//! NEAR, read from a server of finalized blocks in the neardata format (`fastnear/neardata-server`, which anyone can
//! run, or FastNEAR's own). The chain's plain RPC has the same content in one call per shard and one per outcome.
//!
//! Value is read from receipts, not from transactions: contracts pay too, and a transfer counts where it was executed.
//! Counted are `Transfer` actions of receipts whose outcome is a success, and `ft_transfer` and `ft_mint` events of
//! NEP-141 tokens. Receipts of `system` are refunds of gas. Not counted is what `ft_transfer_call` moves: it comes to an
//! address of ours only to go back, because nothing there can accept it.
//!
//! Heights may be skipped. Asked for such a height, [`block`](super::ChainSource::block) answers with the next block
//! there is, whose own `prev_height` must show that nothing stood between.
//!
//! What can be held against a server: every chunk that the block includes must be there, and the outcomes of each shard
//! must agree in one Merkle root, to which none may be missing. A block with a shard that has no outcome at all counts once the
//! next block's chunk of that shard says so too, by the root that it commits to; until then the block before is the head. A
//! shard that makes no chunk for the next block says nothing. Nothing shows what a receipt pays, and a server that makes up
//! a tree of its own is believed: where that matters, give the network witnesses.
//!
//! Where the shapes come from: the server's documentation and source, the streamer messages of NEAR's own indexer
//! framework, which the format repeats. No live server has been seen.
//!
//! What an account holds only a node's own JSON-RPC tells, so balances are compared where one is named as well
//! (`state_url`).
//!
//! - `source`: the calls. `state`: the calls to such a node. `wire`: the tolerant shapes. `decode`: from outcomes to transfers, without io.
//! - `proof`: what outcomes prove of each other.

mod decode;
mod proof;
mod source;
mod state;
mod wire;

pub use source::NearSource;
