//! TRON, read over the HTTP interface of its nodes, of solidified blocks only: two thirds of the producers have built
//! on them, so they are final.
//!
//! Two calls a block: `getblockbynum` has the transactions and native transfers, `gettransactioninfobyblocknum` has
//! what came of each, its logs and its internal transactions. Counted are `TransferContract`s, `Transfer` events of
//! TRC-20 shape, and internal transactions that call or create with value or leave a contract's rest to somebody.
//! A node lists internal transactions only if it runs with `vm.saveInternalTx`. TRC-10 tokens are left out: the
//! catalogue has none, and anyone can send them to everyone.
//!
//! What can be held against a node: a block's id begins with its height, a block whose header commits to transactions has
//! some, and each has exactly one outcome, of this block's height and time. Nothing in the interface commits to logs, but
//! one that asked a token of the catalogue to transfer, and succeeded, must have left some: a node that has lost its logs
//! shows in the first such call, which most blocks have. The header's root over transactions is not recomputed: it is
//! over bytes of which nodes show a part. A node that leaves out a transaction together with its outcome, or single logs,
//! is believed: where that matters, give the network witnesses.
//!
//! Where the shapes come from: java-tron's documentation with its recorded replies of the Nile test network. No live
//! node has been seen.
//!
//! - `source`: the calls. `wire`: the tolerant shapes. `decode`: from a block to transfers, without io.

mod decode;
mod lookup;
mod source;
mod wire;

pub use source::TronSource;
