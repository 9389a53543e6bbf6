//! The calls to one node.

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    time::Duration,
};

use chrono::TimeDelta;
use secrecy::SecretString;

use super::{
    balance,
    decode::{self, Holder, Transaction},
    index::get,
    unlisted::{Unlisted, leave_out},
    wire::{WireBlock, WireBlocks, WireHolders, WireInfo, WirePlaces, WireTransactions},
};
use crate::{
    asset::{Network, address::ton::TonAddress},
    chain::{
        Block, BlockRef, ChainError, ChainSource, Held, Located, TransferAsset,
        http::{EndpointError, Http},
    },
};

const INFO: &str = "masterchainInfo";
const BLOCKS: &str = "blocks";
const SHARDS: &str = "masterchainBlockShards";
const TRANSACTIONS: &str = "transactionsByMasterchainBlock";
const TRANSACTION: &str = "transactions";
const HOLDERS: &str = "jetton/wallets";

const MASTERCHAIN: i32 = -1;
/// The single shard of the masterchain.
const MASTERCHAIN_SHARD: &str = "8000000000000000";
/// Global id in every block of the main network.
const MAIN_GLOBAL_ID: i64 = -239;
/// Page size that every version of the node accepts.
const PAGE: usize = 500;
/// Keeps the request line under 8 kB, above which servers may refuse it.
const HOLDERS_PER_CALL: usize = 50;

/// One indexed node of TON.
pub struct TonSource {
    http: Http,
    global_id: i64,
    unlisted: Unlisted,
}

impl TonSource {
    /// `url` is the address before `/api/v3`. It is a secret because it may contain an access key
    /// (`?api_key=…`).
    pub fn new(network: Network, url: &SecretString) -> Result<Self, EndpointError> {
        if network != Network::Ton {
            return Err(EndpointError::WrongFamily { network });
        }
        let unlisted = Unlisted::default();
        Ok(Self { http: Http::new(network, url)?, global_id: MAIN_GLOBAL_ID, unlisted })
    }

    /// Expects another network than the main one. The configuration has only non-negative numbers,
    /// so the id is written as an unsigned number of 32 bits: the public test network, -3, is
    /// 4294967293.
    #[must_use]
    pub fn with_chain_id(mut self, chain_id: u64) -> Self {
        self.global_id = match u32::try_from(chain_id) {
            Ok(id) => i64::from(id.cast_signed()),
            // No network has such an id, so every node will be refused.
            Err(_) => i64::MAX,
        };
        self
    }

    /// Sets the age of a block, by the chain's clock, from which the index is expected to list all
    /// token holders in it.
    #[must_use]
    pub fn with_listing_wait(mut self, wait: TimeDelta) -> Self {
        self.unlisted = Unlisted::waiting(wait);
        self
    }

    /// Time limit for one response of the node.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.http = self.http.with_deadline(deadline);
        self
    }

    /// The newest masterchain block that the index has.
    async fn newest(&self) -> Result<WireBlock, ChainError> {
        let info: Option<WireInfo> = get(&self.http, INFO, &[]).await?;
        let info = info.ok_or_else(|| self.http.malformed(INFO, "there is no such answer"))?;
        self.check_network(&info.last)?;
        Ok(info.last)
    }

    async fn masterchain_block(&self, height: u64) -> Result<Option<WireBlock>, ChainError> {
        let (workchain, seqno) = (MASTERCHAIN.to_string(), height.to_string());
        let query =
            [("workchain", workchain.as_str()), ("shard", MASTERCHAIN_SHARD), ("seqno", &seqno)];
        let found: Option<WireBlocks> = get(&self.http, BLOCKS, &query).await?;
        let Some(block) = found.and_then(|found| found.blocks.into_iter().next()) else {
            return Ok(None);
        };
        if block.seqno != height || block.workchain != MASTERCHAIN {
            let reason = format!("asked for block {height}, got {}", block.seqno);
            return Err(self.http.inconsistent(reason));
        }
        self.check_network(&block)?;
        Ok(Some(block))
    }

    fn check_network(&self, block: &WireBlock) -> Result<(), ChainError> {
        if block.global_id == Some(self.global_id) {
            return Ok(());
        }
        Err(ChainError::WrongChain {
            network: Network::Ton,
            expected: self.global_id.to_string(),
            found: block.global_id.map_or_else(|| "none".to_owned(), |id| id.to_string()),
        })
    }

    /// The header at `height`. A block does not contain its parent's hash, so the parent is fetched
    /// as well.
    async fn header_at(&self, height: u64) -> Result<Option<BlockRef>, ChainError> {
        let parent = async {
            match height.checked_sub(1) {
                Some(below) => self.masterchain_block(below).await,
                None => Ok(None),
            }
        };
        let (block, parent) = futures_util::try_join!(self.masterchain_block(height), parent)?;
        let Some(block) = block else { return Ok(None) };
        let unreadable = |field| self.http.malformed(BLOCKS, format!("field {field}"));
        let parent_hash = match parent {
            Some(parent) => {
                decode::hash(&parent.root_hash).ok_or_else(|| unreadable("root_hash"))?
            }
            None if height == 0 => String::new(),
            None => {
                let reason = format!("block {height} is there and the one below is not");
                return Err(self.http.inconsistent(reason));
            }
        };
        decode::header(&block, parent_hash).map(Some).map_err(unreadable)
    }

    /// Number of transactions that masterchain block `height` and the blocks of its shards promise.
    async fn promised(&self, height: u64) -> Result<Option<u64>, ChainError> {
        let (seqno, limit) = (height.to_string(), PAGE.to_string());
        let mut blocks = HashMap::new();
        for page in 0_usize.. {
            let offset = (page * PAGE).to_string();
            let query = [("seqno", seqno.as_str()), ("limit", &limit), ("offset", &offset)];
            let found: Option<WireBlocks> = get(&self.http, SHARDS, &query).await?;
            let found = found.map_or_else(Vec::new, |found| found.blocks);
            let is_last = found.len() < PAGE;
            for block in found {
                let count =
                    block.tx_count.ok_or_else(|| self.http.malformed(SHARDS, "field tx_count"))?;
                blocks.insert((block.workchain, block.shard, block.seqno), count);
            }
            if is_last {
                break;
            }
        }
        let own = (MASTERCHAIN, MASTERCHAIN_SHARD.to_owned(), height);
        if let Entry::Vacant(own) = blocks.entry(own) {
            // Some versions list the shards alone, and nothing if no shard had a new block.
            let Some(block) = self.masterchain_block(height).await? else { return Ok(None) };
            let count =
                block.tx_count.ok_or_else(|| self.http.malformed(BLOCKS, "field tx_count"))?;
            own.insert(count);
        }
        Ok(Some(blocks.values().sum()))
    }

    /// All transactions of masterchain block `height`, as many as its blocks promise.
    async fn transactions(
        &self,
        height: u64,
        promised: u64,
    ) -> Result<Vec<Transaction>, ChainError> {
        let (seqno, limit) = (height.to_string(), PAGE.to_string());
        let mut transactions = Vec::new();
        let mut seen = HashSet::new();
        let (mut answered, mut unreadable) = (0, 0);
        while seen.len() as u64 + unreadable < promised {
            let offset = answered.to_string();
            let query = [
                ("seqno", seqno.as_str()),
                ("limit", &limit),
                ("offset", &offset),
                ("sort", "asc"),
            ];
            let url = format!("api/v3/{TRANSACTIONS}");
            let answer = self.http.get(TRANSACTIONS, &url, &query).await?;
            let page: WireTransactions = self.http.read(TRANSACTIONS, &answer)?;
            answered += page.transactions.len();
            let (readable, odd) = decode::transactions(height, &page.transactions);
            if odd == 0 && readable.iter().all(|tx| seen.contains(tx.hash())) {
                // Nothing new: the end, or a node that repeats one page for ever.
                break;
            }
            unreadable += odd as u64;
            transactions
                .extend(readable.into_iter().filter(|tx| seen.insert(tx.hash().to_owned())));
        }
        let found = seen.len() as u64 + unreadable;
        if found != promised || seen.is_empty() && unreadable > 1 {
            let reason = format!(
                "block {height} has {promised} transactions, {} of {found} could be read",
                seen.len()
            );
            return Err(self.http.inconsistent(reason));
        }
        Ok(transactions)
    }

    /// Token and owner of each contract that was informed of a token payment. The node lists a
    /// contract only if the master of its token names that contract as its holder's, so false
    /// holders are not included.
    async fn holders(
        &self,
        transactions: &[Transaction],
    ) -> Result<HashMap<TonAddress, Holder>, ChainError> {
        let told: HashSet<_> = transactions.iter().filter_map(Transaction::token_holder).collect();
        let told: Vec<_> = told.into_iter().map(|address| address.raw()).collect();
        let limit = PAGE.to_string();
        let mut holders = HashMap::with_capacity(told.len());
        for chunk in told.chunks(HOLDERS_PER_CALL) {
            let mut query: Vec<_> = chunk.iter().map(|text| ("address", text.as_str())).collect();
            query.push(("limit", &limit));
            let found: Option<WireHolders> = get(&self.http, HOLDERS, &query).await?;
            let found = found.map_or_else(Vec::new, |found| found.jetton_wallets);
            holders.extend(decode::holders(found));
        }
        Ok(holders)
    }
}

// Without a mempool: the indexer only emulates pending transactions and lists them per account.
// Without balances: all value arrives by a message, and every message shows in its block.
impl ChainSource for TonSource {
    fn network(&self) -> Network {
        self.http.network()
    }

    async fn head(&self) -> Result<BlockRef, ChainError> {
        let header = self.header_at(self.newest().await?.seqno).await?;
        let header =
            header.ok_or_else(|| self.http.inconsistent("the newest block is not there"))?;
        self.unlisted.note_newest(header.mined_at);
        Ok(header)
    }

    async fn header(&self, height: u64) -> Result<Option<BlockRef>, ChainError> {
        self.header_at(height).await
    }

    async fn block(&self, height: u64) -> Result<Option<Block>, ChainError> {
        let (header, promised) =
            futures_util::try_join!(self.header_at(height), self.promised(height))?;
        let (Some(header), Some(promised)) = (header, promised) else { return Ok(None) };
        let transactions = self.transactions(height, promised).await?;
        let holders = self.holders(&transactions).await?;
        let unlisted = decode::unlisted(&transactions, &holders);
        if self.unlisted.is_waited_for(&unlisted, header.mined_at) {
            return Ok(None);
        }
        leave_out(height, &unlisted);
        let transfers = decode::transfers(&transactions, &holders);
        Ok(Some(Block { header, transfers }))
    }

    async fn holdings(
        &self,
        _at: &BlockRef,
        addresses: &[String],
        assets: &[TransferAsset],
    ) -> Result<Option<Held>, ChainError> {
        let held = balance::holdings(&self.http, addresses, assets).await?;
        let Some(by_address) = held else { return Ok(None) };
        // No response names its block; the newest block afterwards is the bound for all of them.
        Ok(Some(Held { up_to: self.newest().await?.seqno, by_address }))
    }

    async fn locate(&self, tx_hash: &str) -> Result<Located, ChainError> {
        let found: Option<WirePlaces> = get(&self.http, TRANSACTION, &[("hash", tx_hash)]).await?;
        let place = found.and_then(|found| found.transactions.into_iter().next());
        Ok(match place {
            // Its success or failure does not matter: the first payment to an address is always
            // reported as aborted.
            Some(place) => match place.mc_block_seqno {
                Some(height) => Located::Mined { height, failed: false },
                None => Located::Waiting,
            },
            None => Located::Unknown,
        })
    }
}
