//! A chain in memory, read in the same process: it forks when a test says so, and its node lags,
//! goes back, fails, falls silent, or changes its state between two calls of one look.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard},
};

use chrono::{DateTime, TimeDelta, Utc};
use gateway::{
    asset::Network,
    chain::{
        Block, BlockRef, ChainError, ChainSource, Reading, Transfer, TransferAmount, TransferAsset,
        Waiting,
    },
    money::BaseUnits,
};

/// In the year 2026. A block's time decides nothing here.
const FIRST_BLOCK_AFTER: TimeDelta = TimeDelta::seconds(1_780_000_000);

/// Blocks from the lowest up, each the parent of the next.
pub type Branch = Vec<Arc<Block>>;

/// Movement of a transfer. On another branch it may be another amount under the same key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Movement {
    pub key: String,
    /// Base units, in digits.
    pub amount: String,
}

impl From<&Transfer> for Movement {
    fn from(transfer: &Transfer) -> Self {
        let amount = match &transfer.amount {
            TransferAmount::Units(units) => units.get().to_string(),
            TransferAmount::Beyond128Bits(digits) => digits.clone(),
        };
        Self { key: transfer.key.clone(), amount }
    }
}

/// Number of confirmations that a transfer needs.
pub type Needed = Box<dyn Fn(&Transfer) -> u64 + Send>;

/// Action at one of the following calls.
pub enum Turn {
    /// The call is never answered.
    Silence,
    Change(Box<dyn FnOnce(&mut Script) + Send>),
}

/// The chain, and the part of it that its node shows.
pub struct Script {
    network: Network,
    made: u64,
    /// Time of the following blocks, without a second for each height.
    pub first_block_after: TimeDelta,
    by_hash: HashMap<String, Arc<Block>>,
    pub canonical: Branch,
    /// Branch that the node shows instead of the canonical chain.
    pub shown: Option<Branch>,
    /// The branch abandoned by the last reorg.
    pub former: Branch,
    pub waiting: Vec<Transfer>,
    /// Hashes of further pending transactions, which were not requested from the node.
    pub unread: Vec<String>,
    /// If set, the node does not show its mempool.
    pub hides_mempool: bool,
    /// Extent of the mempool that the node reports.
    pub reading: Reading,
    /// Balances of addresses, if the node reports them: the same at every block.
    pub coins: Option<HashMap<String, BaseUnits>>,
    /// If set, the node reports balances at each block instead: the payments it showed, and the
    /// hidden ones.
    pub tells_balances: bool,
    /// Height below which the node refuses to report balances.
    pub state_from: u64,
    /// Amounts that arrive in a block without showing there, by the block's hash.
    hidden: HashMap<String, Vec<(String, BaseUnits)>>,
    /// Number of the next calls that fail.
    pub failing: u32,
    /// Action after this many more calls.
    pub turn: Option<(u32, Turn)>,
    /// A call waits for an answer that never comes.
    pub is_silent: bool,
    /// Blocks being requested, and their maximum at one time.
    asked_for: u32,
    pub most_asked_for: u32,
    /// Confirmations after which a transfer is final, for tests that ask for final movements;
    /// finding them out costs more than a block.
    pub needed: Option<Needed>,
    /// All movements that the node ever showed with the required confirmations.
    pub final_somewhere: HashSet<Movement>,
}

impl Script {
    fn new(network: Network, first_height: u64) -> Self {
        let mut script = Self {
            network,
            made: 0,
            first_block_after: FIRST_BLOCK_AFTER,
            by_hash: HashMap::new(),
            canonical: Vec::new(),
            shown: None,
            former: Vec::new(),
            waiting: Vec::new(),
            unread: Vec::new(),
            hides_mempool: false,
            reading: Reading::Partial,
            coins: None,
            tells_balances: false,
            state_from: 0,
            hidden: HashMap::new(),
            failing: 0,
            turn: None,
            is_silent: false,
            asked_for: 0,
            most_asked_for: 0,
            needed: None,
            final_somewhere: HashSet::new(),
        };
        script.append(first_height, Vec::new());
        script
    }

    pub fn tip(&self) -> &Block {
        &self.canonical[self.canonical.len() - 1]
    }

    fn append(&mut self, height: u64, transfers: Vec<Transfer>) {
        let parent_hash = self.canonical.last().map_or("none", |parent| &parent.header.hash);
        let age = TimeDelta::seconds(i64::try_from(height).unwrap());
        let header = BlockRef {
            height,
            hash: format!("{height}-{}", self.made),
            parent_hash: parent_hash.to_owned(),
            mined_at: DateTime::<Utc>::UNIX_EPOCH + self.first_block_after + age,
        };
        self.made += 1;
        let block = Arc::new(Block { header, transfers });
        self.by_hash.insert(block.header.hash.clone(), block.clone());
        self.canonical.push(block);
    }

    /// Puts `transfers` into a new block after `skipped` heights without one.
    pub fn mine(&mut self, skipped: u64, transfers: Vec<Transfer>) {
        self.append(self.tip().header.height + 1 + skipped, transfers);
    }

    /// Puts `transfers` into a new block that is dated `unix_seconds`.
    pub fn mine_at(&mut self, unix_seconds: i64, transfers: Vec<Transfer>) {
        let height = i64::try_from(self.tip().header.height).unwrap() + 1;
        self.first_block_after = TimeDelta::seconds(unix_seconds - height);
        self.mine(0, transfers);
    }

    /// Adds an amount to the newest block that no block shows.
    pub fn hide(&mut self, to: &str, units: BaseUnits) {
        let hash = self.tip().header.hash.clone();
        self.hidden.entry(hash).or_default().push((to.to_owned(), units));
    }

    /// Amounts that arrived unseen in the newest `depth` blocks.
    pub fn hidden_in(&self, depth: usize) -> Vec<(String, BaseUnits)> {
        let newest = self.canonical.iter().rev().take(depth);
        newest.filter_map(|block| self.hidden.get(&block.header.hash)).flatten().cloned().collect()
    }

    /// Balance of `address` at the block `hash`.
    fn held_at(&self, hash: &str, address: &str) -> BaseUnits {
        let mut sum = 0;
        let mut next = self.by_hash.get(hash);
        while let Some(block) = next {
            let mut seen = HashSet::new();
            for transfer in block.transfers.iter().filter(|transfer| transfer.to == address) {
                if let (TransferAsset::Native, TransferAmount::Units(units)) =
                    (&transfer.asset, &transfer.amount)
                    && seen.insert(&transfer.key)
                {
                    sum += units.get();
                }
            }
            let hidden = self.hidden.get(&block.header.hash).into_iter().flatten();
            sum +=
                hidden.filter(|(to, _)| to == address).map(|(_, units)| units.get()).sum::<u128>();
            next = self.by_hash.get(&block.header.parent_hash);
        }
        BaseUnits::new(sum)
    }

    /// Removes the newest `depth` blocks; returns the transfers of each, the oldest first.
    pub fn roll_back(&mut self, depth: usize) -> Vec<Vec<Transfer>> {
        self.former.clone_from(&self.canonical);
        let orphaned = self.canonical.split_off(self.canonical.len() - depth);
        orphaned.into_iter().map(|block| block.transfers.clone()).collect()
    }

    fn shown(&self) -> &Branch {
        self.shown.as_ref().unwrap_or(&self.canonical)
    }

    /// The block at `height`, or the next one if that height was skipped.
    fn at(&self, height: u64) -> Option<&Arc<Block>> {
        let shown = self.shown();
        shown.get(shown.partition_point(|block| block.header.height < height))
    }

    /// Movements on the branch that ends in the block `hash`.
    pub fn movements_up_to(&self, hash: &str) -> HashSet<Movement> {
        self.matching_up_to(hash, |_, _| true)
    }

    /// Those that are final there.
    fn final_up_to(&self, hash: &str) -> HashSet<Movement> {
        let Some(needed) = &self.needed else { return HashSet::new() };
        self.matching_up_to(hash, |transfer, confirmations| needed(transfer) <= confirmations)
    }

    fn matching_up_to(
        &self,
        hash: &str,
        is_match: impl Fn(&Transfer, u64) -> bool,
    ) -> HashSet<Movement> {
        let mut movements = HashSet::new();
        let Some(tip) = self.by_hash.get(hash) else { return movements };
        let mut next = Some(tip);
        while let Some(block) = next {
            let confirmations = tip.header.height + 1 - block.header.height;
            let found = block.transfers.iter().filter(|transfer| is_match(transfer, confirmations));
            movements.extend(found.map(Movement::from));
            next = self.by_hash.get(&block.header.parent_hash);
        }
        movements
    }
}

/// The node of a scripted chain. Copies share it.
#[derive(Clone)]
pub struct ScriptedChain {
    network: Network,
    script: Arc<Mutex<Script>>,
}

impl ScriptedChain {
    /// A chain of one empty block.
    pub fn new(network: Network, first_height: u64) -> Self {
        let script = Arc::new(Mutex::new(Script::new(network, first_height)));
        Self { network, script }
    }

    /// The script; do not keep it over an await.
    pub fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap()
    }

    /// Counts one call: performs its planned action, and lets other tasks run.
    async fn call(&self) -> Result<MutexGuard<'_, Script>, ChainError> {
        tokio::task::yield_now().await;
        let due = {
            let mut script = self.script();
            match script.turn.take() {
                Some((0, turn)) => Some(turn),
                waiting => {
                    script.turn = waiting.map(|(calls, turn)| (calls - 1, turn));
                    None
                }
            }
        };
        match due {
            Some(Turn::Silence) => {
                self.script().is_silent = true;
                std::future::pending::<()>().await;
            }
            Some(Turn::Change(change)) => change(&mut self.script()),
            None => {}
        }
        let mut script = self.script();
        if script.failing > 0 {
            script.failing -= 1;
            return Err(failure(script.network, script.failing));
        }
        Ok(script)
    }
}

/// A requested block, until it is returned or its caller stops waiting.
struct AskedFor<'a>(&'a ScriptedChain);

impl<'a> AskedFor<'a> {
    fn of(chain: &'a ScriptedChain) -> Self {
        let mut script = chain.script();
        script.asked_for += 1;
        script.most_asked_for = script.most_asked_for.max(script.asked_for);
        drop(script);
        Self(chain)
    }
}

impl Drop for AskedFor<'_> {
    fn drop(&mut self) {
        self.0.script().asked_for -= 1;
    }
}

fn failure(network: Network, number: u32) -> ChainError {
    match number % 3 {
        0 => ChainError::RateLimited { network },
        1 => ChainError::Unreachable { network, reason: "it is down".to_owned() },
        _ => ChainError::Inconsistent { network, reason: "its log is empty".to_owned() },
    }
}

impl ChainSource for ScriptedChain {
    fn network(&self) -> Network {
        self.network
    }

    async fn head(&self) -> Result<BlockRef, ChainError> {
        let script = self.call().await?;
        let head = script.shown().last().map(|block| block.header.clone());
        head.ok_or_else(|| failure(self.network, 2))
    }

    async fn header(&self, height: u64) -> Result<Option<BlockRef>, ChainError> {
        let script = self.call().await?;
        let found = script.at(height).filter(|block| block.header.height == height);
        Ok(found.map(|block| block.header.clone()))
    }

    async fn block(&self, height: u64) -> Result<Option<Block>, ChainError> {
        let _asked_for = AskedFor::of(self);
        let mut script = self.call().await?;
        let Some(block) = script.at(height).cloned() else { return Ok(None) };
        let now_final = script.final_up_to(&block.header.hash);
        script.final_somewhere.extend(now_final);
        Ok(Some(Block::clone(&block)))
    }

    async fn mempool(&self) -> Result<Waiting, ChainError> {
        let script = self.call().await?;
        if script.hides_mempool {
            return Err(ChainError::RateLimited { network: self.network });
        }
        let mut waiting = Waiting::from(script.waiting.clone());
        waiting.listed.extend(script.unread.iter().cloned());
        waiting.reading = script.reading;
        let tip = script.shown().last().map(|block| &block.header);
        waiting.tip = tip.map(|tip| (tip.height, tip.hash.clone()));
        Ok(waiting)
    }

    async fn native_balances(
        &self,
        at: &BlockRef,
        addresses: &[String],
    ) -> Result<Option<Vec<BaseUnits>>, ChainError> {
        let script = self.call().await?;
        if at.height < script.state_from {
            let (network, reason) = (self.network, "missing trie node".to_owned());
            return Err(ChainError::Refused { network, method: "balances", code: -32000, reason });
        }
        if script.tells_balances {
            let held = addresses.iter().map(|address| script.held_at(&at.hash, address));
            return Ok(Some(held.collect()));
        }
        let held = |coins: &HashMap<String, BaseUnits>| {
            let of = |address| coins.get(address).copied().unwrap_or(BaseUnits::ZERO);
            addresses.iter().map(of).collect()
        };
        Ok(script.coins.as_ref().map(held))
    }
}
