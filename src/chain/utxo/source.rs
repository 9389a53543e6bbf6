//! The calls to one node.

use std::time::Duration;

use chrono::{DateTime, Utc};
use futures_util::try_join;
use secrecy::SecretString;
use serde_json::{json, value::RawValue};
use tokio::sync::Mutex;
use tracing::warn;

use super::{
    chain::Chain,
    decode, lookup,
    mempool::Mempool,
    scan,
    wire::{GET_HEADER, GET_WAITING, NOT_FOUND, WireBlock, WireInfo, WireMempoolInfo},
};
use crate::{
    asset::{Network, Realm},
    chain::{
        Block, BlockRef, ChainError, ChainSource, Held, Located, Reading, TransferAsset, Waiting,
        rpc::{BATCH_CALLS_MAX, EndpointError, Rpc},
    },
};

const GET_INFO: &str = "getblockchaininfo";
const GET_HASH: &str = "getblockhash";
const GET_BLOCK: &str = "getblock";
const LIST_WAITING: &str = "getrawmempool";
const GET_MEMPOOL: &str = "getmempoolinfo";

/// Bitcoin's own code for a height or another parameter that does not exist.
const INVALID_PARAMETER: i64 = -8;
/// Bitcoin's own code for a node that is still fetching the chain.
const IN_INITIAL_DOWNLOAD: i64 = -10;
const METHOD_NOT_FOUND: i64 = -32601;
/// The number of headers that a node may be ahead of its blocks. A node that reports itself as
/// downloading the chain is believed earlier.
const HEADERS_AHEAD_MAX: u64 = 100;

/// One full node of bitcoin, litecoin or dogecoin.
pub struct UtxoSource {
    rpc: Rpc,
    /// The same node, waited for as long as a walk through all unspent outputs takes.
    scanner: Rpc,
    chain: Chain,
    mempool: Mutex<Mempool>,
}

impl UtxoSource {
    /// `url` is a secret because it usually carries a name and a password.
    pub fn new(network: Network, url: &SecretString) -> Result<Self, EndpointError> {
        let chain = Chain::of(network).ok_or(EndpointError::WrongFamily { network })?;
        let scanner = Rpc::new(network, url)?.with_deadline(scan::DEADLINE);
        Ok(Self { rpc: Rpc::new(network, url)?, scanner, chain, mempool: Mutex::default() })
    }

    /// Expects a chain that begins with this block instead of the network's own, and spells
    /// addresses as such test chains do.
    #[must_use]
    pub fn with_test_chain(mut self, genesis: &str) -> Self {
        self.chain.genesis = genesis.to_ascii_lowercase();
        self.chain.realm = Realm::Regtest;
        self
    }

    /// Waits this long for one answer of the node.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.rpc = self.rpc.with_deadline(deadline);
        self
    }

    async fn check_chain(&self) -> Result<(), ChainError> {
        let found = self.hash_at(0).await?.unwrap_or_default();
        if found == self.chain.genesis {
            return Ok(());
        }
        let (network, expected) = (self.chain.network, self.chain.genesis.clone());
        Err(ChainError::WrongChain { network, expected, found })
    }

    /// The newest block's height and hash, once the node has fetched the chain.
    async fn tip(&self) -> Result<(u64, String), ChainError> {
        let result = self.rpc.call(GET_INFO, json!([])).await?;
        let info: WireInfo = self.rpc.read(GET_INFO, &result)?;
        let ahead = info.headers.unwrap_or(info.blocks).saturating_sub(info.blocks);
        if info.initial_block_download || ahead > HEADERS_AHEAD_MAX {
            return Err(ChainError::Refused {
                network: self.chain.network,
                method: GET_INFO,
                code: IN_INITIAL_DOWNLOAD,
                reason: format!("it is still fetching the chain: {} blocks so far", info.blocks),
            });
        }
        let hash = decode::hash(info.best_block_hash)
            .ok_or_else(|| self.rpc.malformed(GET_INFO, "field bestblockhash"))?;
        Ok((info.blocks, hash))
    }

    /// The hash of the canonical block at `height`; `None` above the head.
    async fn hash_at(&self, height: u64) -> Result<Option<String>, ChainError> {
        let result = match self.rpc.call(GET_HASH, json!([height])).await {
            Err(ChainError::Refused { code: INVALID_PARAMETER, .. }) => return Ok(None),
            result => result?,
        };
        let text: &str = self.rpc.read(GET_HASH, &result)?;
        let hash = decode::hash(text).ok_or_else(|| self.rpc.malformed(GET_HASH, "no hash"))?;
        Ok(Some(hash))
    }

    /// Returns true once the node has loaded the mempool that it saved when it stopped. It lists a
    /// part of it until then.
    async fn has_loaded_mempool(&self) -> Result<bool, ChainError> {
        let result = match self.rpc.call(GET_MEMPOOL, json!([])).await {
            Err(ChainError::Refused { code: METHOD_NOT_FOUND, .. }) => return Ok(true),
            result => result?,
        };
        let info: WireMempoolInfo = self.rpc.read(GET_MEMPOOL, &result)?;
        Ok(info.loaded.unwrap_or(true))
    }

    async fn header_of(&self, height: u64, hash: &str) -> Result<BlockRef, ChainError> {
        let result = self.rpc.call(GET_HEADER, json!([hash])).await?;
        let block: WireBlock = self.rpc.read(GET_HEADER, &result)?;
        self.checked(GET_HEADER, (height, hash), &block)
    }

    /// The header of `block` if that is the requested one, and still in the best chain.
    fn checked(
        &self,
        method: &'static str,
        (height, hash): (u64, &str),
        block: &WireBlock<'_>,
    ) -> Result<BlockRef, ChainError> {
        let header = decode::header(block)
            .map_err(|field| self.rpc.malformed(method, format!("field {field}")))?;
        if header.height != height || header.hash != hash {
            let reason = format!("asked for block {height} {hash}, got another");
            return Err(self.rpc.inconsistent(reason));
        }
        if block.confirmations < 1 {
            let reason = format!("block {height} {hash} was replaced between two calls");
            return Err(self.rpc.inconsistent(reason));
        }
        Ok(header)
    }

    /// Reads waiting transactions and remembers them as they come, so that a node which has had
    /// enough in the middle is asked for less the next time.
    async fn read_waiting(
        &self,
        mempool: &mut Mempool,
        wanted: &[String],
    ) -> Result<(), ChainError> {
        // A number instead of a yes: old nodes know only that, new ones take it too.
        let params: Vec<_> = wanted.iter().map(|txid| (txid.as_str(), 1)).collect();
        let mut failed = Ok(());
        for (chunk, params) in wanted.chunks(BATCH_CALLS_MAX).zip(params.chunks(BATCH_CALLS_MAX)) {
            let answers = self.rpc.batch_each(GET_WAITING, params).await?;
            for (txid, answer) in chunk.iter().zip(answers) {
                match answer {
                    Ok(raw) => self.remember(mempool, txid, &raw),
                    // Mined or replaced meanwhile. If it is neither, the next look asks again.
                    Err(ChainError::Refused { code: NOT_FOUND, .. }) => mempool.give_up(txid),
                    Err(error) => failed = Err(error),
                }
            }
            if failed.is_err() {
                break;
            }
        }
        failed
    }

    fn remember(&self, mempool: &mut Mempool, txid: &str, raw: &RawValue) {
        match decode::transaction(&self.chain, None, raw) {
            Ok(transaction) if transaction.txid == *txid => mempool.insert(transaction),
            unreadable => {
                let network = self.chain.network;
                let reason = unreadable.err().unwrap_or_else(|| "it has another id".to_owned());
                warn!(
                    %network, tx.hash = txid, reason,
                    "waiting transaction {txid} of {network} cannot be read and is left out: {reason}"
                );
                mempool.insert_unreadable(txid.to_owned());
            }
        }
    }
}

impl ChainSource for UtxoSource {
    fn network(&self) -> Network {
        self.chain.network
    }

    fn blocks_at_once(&self) -> u32 {
        1
    }

    async fn head(&self) -> Result<BlockRef, ChainError> {
        let ((), (height, hash)) = try_join!(self.check_chain(), self.tip())?;
        self.header_of(height, &hash).await
    }

    async fn header(&self, height: u64) -> Result<Option<BlockRef>, ChainError> {
        match self.hash_at(height).await? {
            Some(hash) => self.header_of(height, &hash).await.map(Some),
            None => Ok(None),
        }
    }

    async fn block(&self, height: u64) -> Result<Option<Block>, ChainError> {
        let Some(hash) = self.hash_at(height).await? else { return Ok(None) };
        let result = self.rpc.call(GET_BLOCK, json!([hash, 2])).await?;
        let block: WireBlock = self.rpc.read(GET_BLOCK, &result)?;
        let header = self.checked(GET_BLOCK, (height, &hash), &block)?;
        let transfers = decode::transfers(&self.chain, &block)
            .map_err(|reason| self.rpc.inconsistent(format!("block {height}: {reason}")))?;
        Ok(Some(Block { header, transfers }))
    }

    async fn mempool(&self) -> Result<Waiting, ChainError> {
        // Before the list: one that the node gave while it loaded is a part of it, even if it has
        // loaded all since.
        let is_loaded = self.has_loaded_mempool().await?;
        let result = match self.rpc.call(LIST_WAITING, json!([])).await {
            // A node that keeps it to itself shows payments when they are mined.
            Err(ChainError::Refused { code: METHOD_NOT_FOUND, .. }) => {
                return Ok(Waiting::default());
            }
            result => result?,
        };
        let listed: Vec<String> = self.rpc.read(LIST_WAITING, &result)?;
        let tip = Some(self.tip().await?);
        let mut mempool = self.mempool.lock().await;
        let wanted = mempool.update(&listed);
        self.read_waiting(&mut mempool, &wanted).await?;
        let transfers = mempool.transfers();
        let reading = match (is_loaded, mempool.is_read_whole()) {
            (false, _) => Reading::Loading,
            (true, true) => Reading::Whole,
            (true, false) => Reading::Partial,
        };
        Ok(Waiting { transfers, listed: listed.into_iter().collect(), tip, reading })
    }

    /// The median of the newest eleven dates: a block may be dated before its parent, but never at
    /// or before that.
    async fn dated_through(&self, head: &BlockRef) -> Result<DateTime<Utc>, ChainError> {
        let result = self.rpc.call(GET_HEADER, json!([head.hash])).await?;
        let block: WireBlock = self.rpc.read(GET_HEADER, &result)?;
        let median = block.median_time.and_then(|time| DateTime::from_timestamp(time, 0));
        median.ok_or_else(|| self.rpc.malformed(GET_HEADER, "field mediantime"))
    }

    async fn holdings(
        &self,
        _at: &BlockRef,
        addresses: &[String],
        assets: &[TransferAsset],
    ) -> Result<Option<Held>, ChainError> {
        scan::holdings(&self.scanner, &self.chain, addresses, assets).await
    }

    async fn locate(&self, tx_hash: &str) -> Result<Located, ChainError> {
        lookup::locate(&self.rpc, tx_hash).await
    }
}
