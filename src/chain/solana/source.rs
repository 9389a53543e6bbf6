//! The calls to one node.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::{StreamExt, future::join_all, stream};
use secrecy::SecretString;
use serde_json::json;

use super::{
    decode::{self, Place},
    lookup,
    wire::{CONFIRMED, FINALIZED, WireBlock},
};
use crate::{
    asset::Network,
    chain::{
        Block, BlockRef, ChainError, ChainSource, Held, Located, TokenFacts, TransferAsset,
        Waiting,
        rpc::{EndpointError, Rpc},
        unfinal::Unfinal,
    },
    money::BaseUnits,
};

const GET_BLOCK: &str = "getBlock";
const GET_BLOCKS: &str = "getBlocksWithLimit";
const GET_SLOT: &str = "getSlot";
const GENESIS: &str = "getGenesisHash";

const MAIN_GENESIS: &str = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d";
/// Error codes of nodes for a slot without an available block: not there yet, skipped, skipped or
/// no longer stored, status still unknown. Later blocks show which of these applies.
const NO_BLOCK: [i64; 4] = [-32004, -32007, -32009, -32014];
/// Versions differ in the signed content, but show the same balances. With a lower limit, a node
/// refuses a whole block for one transaction of a newer version.
const ANY_VERSION: u8 = u8::MAX;
/// A slot takes 0.4 s and a block is megabytes, so reading one at a time could not keep up with the
/// chain over a slow connection.
const READ_AHEAD: u64 = 4;
/// The same of confirmed blocks.
const EARLY_AT_ONCE: usize = 4;
/// The number of slots that a node's newest stored block may be below the newest finalized slot,
/// while the node is still storing that slot's block.
const HEAD_LAG: u64 = 8;
/// A leader makes four blocks in a row, and a faulty one makes them without content. This many
/// consecutive empty blocks are never all from faulty leaders.
const EMPTY_BLOCKS_MAX: usize = 16;
/// Confirmed blocks read in one look: those of three seconds, and a look comes every two.
const EARLY_MAX: usize = 8;
/// A reader further than this below the newest final block is catching up. Blocks read early would
/// wait in memory for its turn, so it reads none.
const NEAR_TIP: u64 = 64;

/// One node of Solana's main cluster, or of a test cluster.
pub struct SolanaSource {
    rpc: Rpc,
    /// The hash of the cluster's first block.
    genesis: String,
    /// The newest slot that the node reported as finalized.
    finalized: AtomicU64,
    /// The slot whose block was asked for last.
    asked: AtomicU64,
    /// Finalized blocks read ahead. They never change, so they cannot become stale.
    ahead: Mutex<BTreeMap<u64, Block>>,
    /// Confirmed blocks above them, see [`read_early`](Self::read_early).
    unfinal: Unfinal,
}

/// Detail level of a `getBlock` request.
#[derive(Clone, Copy)]
enum Detail {
    Header,
    /// Accounts and balances, without instructions and logs.
    Accounts,
}

impl SolanaSource {
    /// `url` is a secret because it usually carries an access key.
    pub fn new(network: Network, url: &SecretString) -> Result<Self, EndpointError> {
        if network != Network::Solana {
            return Err(EndpointError::WrongFamily { network });
        }
        let rpc = Rpc::new(network, url)?;
        let genesis = MAIN_GENESIS.to_owned();
        Ok(Self {
            rpc,
            genesis,
            finalized: AtomicU64::new(0),
            asked: AtomicU64::new(0),
            ahead: Mutex::default(),
            unfinal: Unfinal::default(),
        })
    }

    /// Expects a test cluster, identified by its first block, instead of the main one.
    #[must_use]
    pub fn with_test_cluster(mut self, genesis: &str) -> Self {
        genesis.clone_into(&mut self.genesis);
        self
    }

    /// Time limit for one response of the node.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.rpc = self.rpc.with_deadline(deadline);
        self
    }

    async fn check_cluster(&self) -> Result<(), ChainError> {
        let result = self.rpc.call(GENESIS, json!([])).await?;
        let found: &str = self.rpc.read(GENESIS, &result)?;
        if found == self.genesis {
            return Ok(());
        }
        Err(ChainError::WrongChain {
            network: self.rpc.network(),
            expected: self.genesis.clone(),
            found: found.chars().take(44).collect(),
        })
    }

    /// The block of `slot`, parsed by `read`; `None` if the node has none, for any reason.
    async fn wire_block<T>(
        &self,
        slot: u64,
        (detail, commitment): (Detail, &str),
        read: impl FnOnce(&WireBlock<'_>) -> Result<T, &'static str>,
    ) -> Result<Option<T>, ChainError> {
        let details = match detail {
            Detail::Header => "none",
            Detail::Accounts => "accounts",
        };
        let options = json!({
            "commitment": commitment, "encoding": "json", "transactionDetails": details, "rewards": false,
            "maxSupportedTransactionVersion": ANY_VERSION,
        });
        let result = match self.rpc.call(GET_BLOCK, json!([slot, options])).await {
            Err(ChainError::Refused { code, .. }) if NO_BLOCK.contains(&code) => return Ok(None),
            answer => answer?,
        };
        let Some(block) = self.rpc.read::<Option<WireBlock>>(GET_BLOCK, &result)? else {
            return Ok(None);
        };
        let unreadable = |field| self.rpc.malformed(GET_BLOCK, format!("field {field}"));
        read(&block).map(Some).map_err(unreadable)
    }

    async fn place(&self, slot: u64) -> Result<Option<Place>, ChainError> {
        self.wire_block(slot, (Detail::Header, FINALIZED), |block| decode::place(slot, block)).await
    }

    /// Up to `limit` slots from `slot` on that have a block.
    async fn slots(
        &self,
        slot: u64,
        limit: usize,
        commitment: &str,
    ) -> Result<Vec<u64>, ChainError> {
        let asked = json!([slot, limit, { "commitment": commitment }]);
        let result = self.rpc.call(GET_BLOCKS, asked).await?;
        self.rpc.read(GET_BLOCKS, &result)
    }

    /// The header that represents a slot without a block, once a later block shows that it was
    /// skipped. `None` if there is no later block yet, or if there is a block that the node does
    /// not serve: both have to be waited for.
    async fn skipped(&self, slot: u64) -> Result<Option<BlockRef>, ChainError> {
        let slots = self.slots(slot, 1, FINALIZED).await?;
        let Some(next) = slots.first().copied().filter(|next| *next != slot) else {
            return Ok(None);
        };
        if next < slot {
            return Err(self.rpc.inconsistent(format!("asked for slots from {slot}, got {next}")));
        }
        let Some(place) = self.place(next).await? else { return Ok(None) };
        let header = place.skipped(slot).ok_or_else(|| {
            self.rpc.inconsistent(format!("{next} follows slot {slot}, which is not there"))
        })?;
        Ok(Some(header))
    }

    /// True for the main cluster, whose blocks always have content. Test clusters make empty
    /// blocks.
    fn is_busy(&self) -> bool {
        self.genesis == MAIN_GENESIS
    }

    /// True if the node shows transactions in one of the next blocks. A node that has lost the
    /// content of all of them, or withholds it, would otherwise be read to the chain tip without a
    /// payment. `false` if there are too few blocks to decide.
    async fn has_content_after(&self, slot: u64) -> Result<bool, ChainError> {
        let slots = self.slots(slot + 1, EMPTY_BLOCKS_MAX, FINALIZED).await?;
        for later in slots.iter().copied() {
            let has_content = |block: &WireBlock<'_>| {
                Ok(block.transactions.as_ref().is_some_and(|raw| !raw.is_empty()))
            };
            let asked = (Detail::Accounts, FINALIZED);
            if self.wire_block(later, asked, has_content).await? == Some(true) {
                return Ok(true);
            }
        }
        if slots.len() < EMPTY_BLOCKS_MAX {
            return Ok(false);
        }
        let reason =
            format!("slot {slot} and the {EMPTY_BLOCKS_MAX} blocks after it are all empty");
        Err(self.rpc.inconsistent(reason))
    }

    async fn fetch(&self, slot: u64) -> Result<Option<Block>, ChainError> {
        let read = |block: &WireBlock<'_>| {
            let raw = block.transactions.as_ref().ok_or("transactions")?;
            let transfers = decode::transfers(slot, raw).ok_or("transactions")?;
            let header = decode::place(slot, block)?.header();
            Ok((Block { header, transfers }, raw.is_empty()))
        };
        match self.wire_block(slot, (Detail::Accounts, FINALIZED), read).await? {
            Some((_, true)) if self.is_busy() && !self.has_content_after(slot).await? => Ok(None),
            Some((block, _)) => Ok(Some(block)),
            None => {
                let header = self.skipped(slot).await?;
                Ok(header.map(|header| Block { header, transfers: Vec::new() }))
            }
        }
    }

    /// Reads the confirmed blocks that are new, lowest first; `false` if some are left.
    ///
    /// A block is megabytes, so it must not be read twice, once early and once when it is final.
    /// Its hash is a hash of its transactions and of all before them: a block read while it was
    /// confirmed is the final one if the final chain has its hash, which [`head`](Self::head)
    /// finds out from a header. It is credited then as it was read, and all others are read when
    /// they are final. Reading confirmed blocks only while invoices are open would read those
    /// twice, all day where there is always one. The price is memory: the transfers of some 32
    /// blocks.
    async fn read_early(&self) -> Result<bool, ChainError> {
        let Some(from) = self.unfinal.next_height().await else { return Ok(false) };
        if from > self.asked.load(Ordering::Relaxed) + NEAR_TIP {
            return Ok(true);
        }
        let slots = self.slots(from, EARLY_MAX, CONFIRMED).await?;
        let are_all = slots.len() < EARLY_MAX;
        let reading = slots.into_iter().take(EARLY_MAX).map(|slot| self.fetch_early(slot, from));
        let mut blocks = stream::iter(reading).buffered(EARLY_AT_ONCE);
        while let Some(read) = blocks.next().await {
            let is_added = match read? {
                Some(links) => self.unfinal.append(links).await,
                None => false,
            };
            if !is_added {
                return Ok(false);
            }
        }
        Ok(are_all)
    }

    /// The confirmed block of `slot`, after the slots without a block that it shows from `from` on.
    async fn fetch_early(&self, slot: u64, from: u64) -> Result<Option<Vec<Block>>, ChainError> {
        let read = |block: &WireBlock<'_>| {
            let raw = block.transactions.as_ref().ok_or("transactions")?;
            let transfers = decode::transfers(slot, raw).ok_or("transactions")?;
            Ok((decode::place(slot, block)?, transfers))
        };
        let found = self.wire_block(slot, (Detail::Accounts, CONFIRMED), read).await?;
        let Some((place, transfers)) = found else { return Ok(None) };
        let Some(links) = place.links(from, NEAR_TIP) else { return Ok(None) };
        let empty = |header| Block { header, transfers: Vec::new() };
        let mut blocks: Vec<Block> = links.into_iter().map(empty).collect();
        if let Some(own) = blocks.last_mut() {
            own.transfers = transfers;
        }
        Ok(Some(blocks))
    }

    /// Keeps for their turn the blocks that were read early and are final now that `head` is.
    async fn keep_final(&self, head: &BlockRef) {
        let Some(newest) = self.unfinal.newest().await else { return };
        let proven = if newest.height < head.height {
            // Finality has overtaken the reading. What cannot be proven is read again.
            let place = self.place(newest.height).await.ok().flatten();
            place.map(|place| place.header())
        } else {
            Some(head.clone())
        };
        let taken = self.unfinal.take_final(proven.as_ref().unwrap_or(head)).await;
        let asked = self.asked.load(Ordering::Relaxed);
        let is_of_use = |block: &Block| block.header.height > asked && self.has_its_content(block);
        self.ahead()
            .extend(taken.into_iter().filter(is_of_use).map(|block| (block.header.height, block)));
    }

    /// True unless the block should have content and shows none: whether it counts, later blocks
    /// decide when it is final.
    fn has_its_content(&self, block: &Block) -> bool {
        !block.transfers.is_empty() || !self.is_busy() || decode::is_skipped(&block.header)
    }

    fn ahead(&self) -> MutexGuard<'_, BTreeMap<u64, Block>> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChainSource for SolanaSource {
    fn network(&self) -> Network {
        self.rpc.network()
    }

    fn blocks_at_once(&self) -> u32 {
        1
    }

    async fn head(&self) -> Result<BlockRef, ChainError> {
        let slot = async {
            let result = self.rpc.call(GET_SLOT, json!([{ "commitment": FINALIZED }])).await?;
            self.rpc.read::<u64>(GET_SLOT, &result)
        };
        let ((), newest) = futures_util::try_join!(self.check_cluster(), slot)?;
        for slot in (newest.saturating_sub(HEAD_LAG)..=newest).rev() {
            if let Some(place) = self.place(slot).await? {
                self.finalized.store(slot, Ordering::Relaxed);
                let head = place.header();
                self.keep_final(&head).await;
                self.unfinal.note_final(&head).await;
                return Ok(head);
            }
        }
        Err(self.rpc.inconsistent(format!("there is no block up to slot {newest}")))
    }

    async fn header(&self, height: u64) -> Result<Option<BlockRef>, ChainError> {
        match self.place(height).await? {
            Some(place) => Ok(Some(place.header())),
            None => self.skipped(height).await,
        }
    }

    async fn block(&self, height: u64) -> Result<Option<Block>, ChainError> {
        self.asked.store(height, Ordering::Relaxed);
        let known: Vec<u64> = {
            let mut ahead = self.ahead();
            // A reader goes upward: what lies below is of no more use.
            *ahead = ahead.split_off(&height);
            if let Some(block) = ahead.remove(&height) {
                return Ok(Some(block));
            }
            ahead.keys().copied().collect()
        };
        let last = self.finalized.load(Ordering::Relaxed).min(height + READ_AHEAD - 1);
        let later = (height + 1..=last).filter(|slot| !known.contains(slot));
        let later = join_all(later.map(|slot| self.fetch(slot)));
        let (block, later) = futures_util::join!(self.fetch(height), later);
        // Blocks that failed to be read ahead are requested again when their turn comes.
        let later = later.into_iter().flatten().flatten();
        self.ahead().extend(later.map(|block| (block.header.height, block)));
        block
    }

    /// The payments in blocks that are confirmed and not final yet, some 13 seconds ahead of those
    /// that are credited. Transactions in no block are not public: they go straight to the next
    /// leader.
    async fn mempool(&self) -> Result<Waiting, ChainError> {
        Ok(self.unfinal.waiting_after(self.network(), self.read_early()).await)
    }

    /// `None`: only transactions change balances, and a block contains the balances of every
    /// transaction.
    async fn native_balances(
        &self,
        _at: &BlockRef,
        _addresses: &[String],
    ) -> Result<Option<Vec<BaseUnits>>, ChainError> {
        Ok(None)
    }

    async fn locate(&self, tx_hash: &str) -> Result<Located, ChainError> {
        lookup::locate(&self.rpc, tx_hash).await
    }

    async fn holdings(
        &self,
        at: &BlockRef,
        addresses: &[String],
        assets: &[TransferAsset],
    ) -> Result<Option<Held>, ChainError> {
        lookup::holdings(&self.rpc, at, addresses, assets).await
    }

    async fn token(&self, contract: &str) -> Result<Option<TokenFacts>, ChainError> {
        lookup::token(&self.rpc, contract).await.map(Some)
    }
}
