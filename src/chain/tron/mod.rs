//! TRON, read over the HTTP interface of its nodes, solidified blocks only: two thirds of the
//! producers have built on them, so they are final.
//!
//! Two calls per block: `getblockbynum` has the transactions and native transfers,
//! `gettransactioninfobyblocknum` has the outcome of each, its logs and its internal transactions.
//! Counted are `TransferContract`s, `Transfer` events of TRC-20 format, and internal transactions
//! that call or create with value or send the remaining balance of a destroyed contract. A node
//! lists internal transactions only if it runs with `vm.saveInternalTx`. TRC-10 tokens are left
//! out: the catalogue has none, and anyone can send them to any address as spam.
//!
//! Checks on a node: a block's id begins with its height, a block whose header commits to
//! transactions has some, and each has exactly one outcome, of this block's height and time.
//! Nothing in the interface commits to logs, but a successful call of a transfer function of a
//! catalogue token must have left some: a node that has lost its logs is detected at the first such
//! call, which most blocks have. The header's root over transactions is not recomputed, because
//! nodes show only a part of the bytes that it covers. A node that omits a transaction together
//! with its outcome, or single logs, is believed: where that matters, give the network witnesses.
//!
//! Sources of the formats: java-tron's documentation with its recorded replies of the Nile test
//! network. No live node has been seen.
//!
//! - `source`: the calls. `wire`: the tolerant types. `decode`: from a block to transfers, without
//!   io.

mod decode;
mod lookup;
mod source;
mod wire;

pub use source::TronSource;
