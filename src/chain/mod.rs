//! Chains behind one interface: the blocks and the movements of value that a node reports.
//!
//! [`ChainSource`] is implemented by every adapter, and by the simulated chain of the sandbox; one
//! conformance suite (`tests/it/chain`) is passed by all of them. An adapter reports facts only.
//! Their meaning for an invoice is decided in `app`.

mod agreement;
mod amount;
pub mod calls;
mod entries;
pub mod evm;
pub mod http;
pub mod near;
pub mod needs;
pub mod pay;
mod pinned;
mod refusal;
pub mod rpc;
pub mod simulated;
pub mod solana;
mod source;
pub mod thorchain;
pub mod ton;
pub mod tron;
mod unfinal;
pub mod utxo;

pub use agreement::Agreement;
pub use source::{Source, UnusableSource};

use std::{collections::HashSet, future::Future, sync::Arc};

use bitcoin::OutPoint;
use chrono::{DateTime, Utc};
use thiserror::Error;

use crate::{asset::Network, money::BaseUnits};

/// One block's place in its chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockRef {
    pub height: u64,
    pub hash: String,
    pub parent_hash: String,
    /// The time the block claims, not the time we saw it.
    pub mined_at: DateTime<Utc>,
}

/// A block and all value that moves in it, as far as the chain's blocks show it.
#[derive(Debug, Clone)]
pub struct Block {
    pub header: BlockRef,
    pub transfers: Vec<Transfer>,
}

/// Value arriving at an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transfer {
    /// Names this movement on its network for ever: it survives a reorganisation and a replay
    /// (`txhash:output`, `txhash:k-th log`, …; never a position inside a block).
    pub key: String,
    pub tx_hash: String,
    /// The receiver as `asset::address::match_key` spells it.
    pub to: String,
    /// The sender's address, where the network names one for each movement. For people and their
    /// accounting: nothing is decided by it.
    pub from: Option<String>,
    pub asset: TransferAsset,
    pub amount: TransferAmount,
    /// Confirmations that the network requires before it can be spent: 1 but for a miner's reward
    /// and the like.
    pub maturity: u64,
    /// The outputs that its transaction spends, where a network's transactions spend outputs: of
    /// two that spend one output, at most one is ever mined.
    pub spends: Arc<[OutPoint]>,
}

/// Strength of a mempool reading as proof that no other payment was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reading {
    /// Some payments may be mined without having shown here: the network's nodes keep no mempool,
    /// this node keeps it to itself, or it lists more than was read. Only blocks prove that no
    /// payment was made by a moment.
    #[default]
    Partial,
    /// The node still loads the mempool that it had before its restart, so a transaction that it
    /// does not list has not vanished either.
    Loading,
    /// All that the node knows was read: a payment that stands neither here nor in a block was not
    /// made by then.
    Whole,
}

/// A node's report of the transactions that wait for a block. The default is the report where nodes
/// keep no mempool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waiting {
    /// The transfers in those that were read.
    pub transfers: Vec<Transfer>,
    /// The hashes of all of them, whether they were read or not.
    pub listed: HashSet<String>,
    /// Height and hash of the newest block that the node had, asked for after the list: a
    /// transaction that is no longer listed may stand in any block up to it. `None` where no node
    /// gave the list.
    pub tip: Option<(u64, String)>,
    pub reading: Reading,
}

impl From<Vec<Transfer>> for Waiting {
    /// Of a source that reads every transaction it lists. That it lists all there are is for the
    /// source to say.
    fn from(transfers: Vec<Transfer>) -> Self {
        let listed = transfers.iter().map(|transfer| transfer.tx_hash.clone()).collect();
        Self { transfers, listed, tip: None, reading: Reading::Partial }
    }
}

/// The asset that moved: the chain's own coin, or a token named by its contract (spelled by
/// `match_key` as well).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TransferAsset {
    Native,
    Contract(String),
}

/// The amount that moved. Amounts beyond 128 bits exist on chain only to do harm; they are
/// reported, never credited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransferAmount {
    Units(BaseUnits),
    Beyond128Bits(String),
}

impl TransferAmount {
    /// `None` beyond 128 bits.
    pub(crate) fn units(self) -> Option<BaseUnits> {
        match self {
            Self::Units(units) => Some(units),
            Self::Beyond128Bits(_) => None,
        }
    }
}

/// The block of a transaction, as far as a node reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Located {
    /// In the canonical block at that height. `failed`: the network says that it moved nothing.
    Mined {
        height: u64,
        failed: bool,
    },
    /// It waits for a block, or for its block to become final.
    Waiting,
    Unknown,
    /// The network's nodes do not look up transactions; the caller must know the block.
    CannotTell,
}

/// A token contract's own statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenFacts {
    pub has_code: bool,
    /// `None` where it does not say.
    pub decimals: Option<u32>,
}

/// The balances of an address in several assets, in their order; `None` for an asset that could not
/// be asked for.
pub type Holdings = Vec<Option<BaseUnits>>;

/// The balances of several addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The newest block that it may know of: the one asked for where nodes keep balances by block,
    /// else one at or above it.
    pub up_to: u64,
    /// In the order of the addresses.
    pub by_address: Vec<Holdings>,
}

/// Returns whether the nodes of `network` find the balance of an address by a walk through all
/// unspent outputs: minutes of their disk, for one address or for a thousand.
pub const fn walks_for_balances(network: Network) -> bool {
    matches!(network, Network::Bitcoin | Network::Litecoin | Network::Dogecoin)
}

/// The largest difference between a coin's balance and the deposits shown by blocks that needs no
/// explanation. TON charges for the room that an account takes, some 0.0003 a year for one without
/// code, and the coins that carry the notice of tokens, or are too small to pay their own way back,
/// stay without being a payment: together they do not reach 0.01 in a lifetime of ordinary
/// payments.
pub const fn coin_slack(network: Network) -> BaseUnits {
    if matches!(network, Network::Ton) { BaseUnits::new(10_000_000) } else { BaseUnits::ZERO }
}

/// Why a chain could not be read. None of these moves a cursor.
#[derive(Debug, Error)]
pub enum ChainError {
    #[error("the node of {network} did not answer: {reason}")]
    Unreachable { network: Network, reason: String },
    #[error("the node of {network} refuses requests with a rate limit")]
    RateLimited { network: Network },
    /// The node understood and said no: a method it does not have, a state it no longer keeps, a
    /// limit of its own.
    #[error("the node of {network} refuses {method}: {reason} (code {code})")]
    Refused { network: Network, method: &'static str, code: i64, reason: String },
    #[error("the node of {network} sent an answer to {method} that cannot be parsed: {reason}")]
    Malformed { network: Network, method: &'static str, reason: String },
    #[error("the node of {network} serves chain {found}, not {expected}")]
    WrongChain { network: Network, expected: String, found: String },
    #[error("the node of {network} contradicts itself: {reason}")]
    Inconsistent { network: Network, reason: String },
}

impl ChainError {
    /// Returns whether the node would answer, but for the size of its answer.
    pub(crate) fn is_too_large(&self) -> bool {
        matches!(self, Self::Refused { reason, .. } if refusal::is_too_large(reason))
    }

    /// Returns whether the node reported that it does not have the method, in one of the wordings
    /// of nodes.
    pub(crate) fn lacks_method(&self) -> bool {
        let Self::Refused { code, reason, .. } = self else { return false };
        let reason = reason.to_lowercase();
        // -32601 is JSON-RPC's own code, -32004 that of EIP-1474.
        matches!(code, -32601 | -32004)
            || [
                "method not found",
                "not supported",
                "unsupported method",
                "does not exist/is not available",
            ]
            .iter()
            .any(|words| reason.contains(words))
    }

    /// Returns whether a node of an EVM network reported that it keeps the state of that block no
    /// longer. Any other refusal may hide a state that it has: a limit, a time limit, a fault.
    pub(crate) fn lacks_state(&self) -> bool {
        matches!(self, Self::Refused { reason, .. } if refusal::is_state_gone(reason))
    }
}

/// The number of blocks that a reader far behind asks for at once: as many as make the fastest
/// network's blocks quicker to read than to make, over a line of 200 ms.
const BLOCKS_AT_ONCE: u32 = 8;

/// One node, or one source that behaves like one.
pub trait ChainSource: Send + Sync {
    fn network(&self) -> Network;

    /// The number of blocks that a reader far behind may ask for at once. One where that wins
    /// nothing: blocks are minutes apart, or the source reads ahead by itself.
    fn blocks_at_once(&self) -> u32 {
        BLOCKS_AT_ONCE
    }

    /// The highest block of the canonical chain. Also the place where a source checks that it still
    /// serves the chain it was configured for.
    fn head(&self) -> impl Future<Output = Result<BlockRef, ChainError>> + Send;

    /// The canonical block at `height`, without its content; `None` above the head, and where the
    /// chain skipped that height.
    fn header(
        &self,
        height: u64,
    ) -> impl Future<Output = Result<Option<BlockRef>, ChainError>> + Send;

    /// The canonical block at `height` with its transfers; `None` above the head.
    ///
    /// Where the chain skipped that height, it is the next existing block: its parent is the block
    /// before the gap, so that a reader who goes up one by one walks on.
    ///
    /// All parts of the answer belong to one block hash, even if the chain reorganises between two
    /// calls.
    fn block(&self, height: u64) -> impl Future<Output = Result<Option<Block>, ChainError>> + Send;

    /// The transactions that wait for a block. None where the chain has no public mempool worth
    /// reading, because its next block is seconds away.
    fn mempool(&self) -> impl Future<Output = Result<Waiting, ChainError>> + Send {
        async { Ok(Waiting::default()) }
    }

    /// The moment before which no block above `head` can be dated: a reader who has read up to
    /// `head` knows every block dated earlier. It is the head's own date where a network's blocks
    /// are never dated before their parents.
    fn dated_through(
        &self,
        head: &BlockRef,
    ) -> impl Future<Output = Result<DateTime<Utc>, ChainError>> + Send {
        let mined_at = head.mined_at;
        async move { Ok(mined_at) }
    }

    /// Native balances of `addresses` at exactly that block, in their order, on chains where value
    /// can arrive without showing in the block body (EVM internal transfers). `None` where blocks
    /// show everything.
    fn native_balances(
        &self,
        at: &BlockRef,
        addresses: &[String],
    ) -> impl Future<Output = Result<Option<Vec<BaseUnits>>, ChainError>> + Send {
        let _ = (at, addresses);
        async { Ok(None) }
    }

    /// The block of a transaction. For people who ask about one; nothing is credited by it.
    fn locate(&self, tx_hash: &str) -> impl Future<Output = Result<Located, ChainError>> + Send {
        let _ = tx_hash;
        async { Ok(Located::CannotTell) }
    }

    /// The balances of `addresses`, incoming and outgoing counted: at exactly that block where
    /// nodes keep balances by block, else at some block from it up to [`Held::up_to`]. `None` where
    /// the node offers no such thing; without any address, the answer shows that alone.
    fn holdings(
        &self,
        at: &BlockRef,
        addresses: &[String],
        assets: &[TransferAsset],
    ) -> impl Future<Output = Result<Option<Held>, ChainError>> + Send {
        let _ = (at, addresses, assets);
        async { Ok(None) }
    }

    /// A token contract's own statements; `None` where nodes do not give them.
    fn token(
        &self,
        contract: &str,
    ) -> impl Future<Output = Result<Option<TokenFacts>, ChainError>> + Send {
        let _ = contract;
        async { Ok(None) }
    }
}
