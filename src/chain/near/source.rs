//! The calls to one server.

use std::{
    collections::HashSet,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use secrecy::SecretString;
use serde_json::value::RawValue;

use super::{decode, proof, state::State, wire::WireDocument};
use crate::{
    asset::Network,
    chain::{
        Block, BlockRef, ChainError, ChainSource, Held, TransferAsset, Waiting,
        http::{EndpointError, Http},
        pinned::Pinned,
        unfinal::Unfinal,
    },
    money::BaseUnits,
};

const BLOCK: &str = "block";
const LAST_BLOCK: &str = "last_block/final";
/// The same of blocks that are not final yet. Not every server has them.
const NEW_BLOCK: &str = "block_opt";
const NEWEST_BLOCK: &str = "last_block/optimistic";
/// More heights than the chain skips in a row.
const SKIPPED_MAX: u64 = 100;
/// Heights that are tried below a skipped one while payments are only looked for early.
const UNFINAL_SKIPPED_MAX: u64 = 3;
/// The first block of the main network.
const GENESIS_HEIGHT: u64 = 9_820_210;
const GENESIS_HASH: &str = "EPnLgE7iEq9s7yTkos96M3cWymH5avBAPm3qx3NXqR8H";

/// One server of finalized blocks.
pub struct NearSource {
    http: Http,
    /// The node that serves balances, if one is configured.
    state: Option<State>,
    pinned: Pinned,
    unfinal: Unfinal,
    /// The highest final block seen. A server delays a request for a block above its own instead of
    /// answering it.
    head: AtomicU64,
}

impl NearSource {
    pub fn new(url: &SecretString) -> Result<Self, EndpointError> {
        let http = Http::new(Network::Near, url)?;
        Ok(Self {
            http,
            state: None,
            pinned: Pinned::default(),
            unfinal: Unfinal::default(),
            head: AtomicU64::new(0),
        })
    }

    /// Reads balances from the node at `url`.
    pub fn with_state(mut self, url: &SecretString) -> Result<Self, EndpointError> {
        self.state = Some(State::new(url)?);
        Ok(self)
    }

    /// Time limit for one response of the server.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.http = self.http.with_deadline(deadline);
        self.state = self.state.map(|state| state.with_deadline(deadline));
        self
    }

    /// The block's document; `null` for a skipped height.
    async fn document(&self, height: u64) -> Result<Box<RawValue>, ChainError> {
        self.http.get(BLOCK, &format!("v0/block/{height}"), &[]).await
    }

    fn read<'a>(&self, document: &'a RawValue) -> Result<Option<WireDocument<'a>>, ChainError> {
        self.http.read(BLOCK, document)
    }

    fn read_header(&self, document: &WireDocument<'_>) -> Result<BlockRef, ChainError> {
        let unreadable = |field| self.http.malformed(BLOCK, format!("field {field}"));
        decode::header(&document.block.header).map_err(unreadable)
    }

    fn check_height(&self, asked: u64, header: &BlockRef) -> Result<(), ChainError> {
        if header.height == asked {
            return Ok(());
        }
        Err(self.http.inconsistent(format!("asked for block {asked}, got {}", header.height)))
    }

    /// Blocks do not name their chain, so its first block identifies it.
    ///
    /// A server that keeps old blocks elsewhere redirects the request, after it has refused heights
    /// below the first block of its network: the network of such a server begins no higher than
    /// this one, and the test network begins higher.
    async fn check_chain(&self) -> Result<(), ChainError> {
        let found = match self.document(GENESIS_HEIGHT).await {
            Err(ChainError::Refused { code: 300..400, .. }) => return Ok(()),
            Err(ChainError::Refused { reason, .. }) => reason,
            answer => match self.read(&answer?)? {
                Some(document) => self.read_header(&document)?.hash,
                None => "a chain without that block".to_owned(),
            },
        };
        if found == GENESIS_HASH {
            return Ok(());
        }
        let expected = GENESIS_HASH.to_owned();
        Err(ChainError::WrongChain { network: Network::Near, expected, found })
    }

    /// True if the server is known to have `height`, after asking it if necessary.
    async fn reaches(&self, height: u64) -> Result<bool, ChainError> {
        Ok(height <= self.head.load(Ordering::Relaxed) || height <= self.newest().await?.height)
    }

    async fn newest(&self) -> Result<BlockRef, ChainError> {
        Ok(self.newest_told().await?.0)
    }

    /// The newest block, and whether one of its shards is reported to have executed nothing.
    async fn newest_told(&self) -> Result<(BlockRef, bool), ChainError> {
        // The server answers with a redirect to the block itself.
        let document = self.http.get(LAST_BLOCK, "v0/last_block/final", &[]).await?;
        let document = self.read(&document)?;
        let document =
            document.ok_or_else(|| self.http.malformed(LAST_BLOCK, "there is no last block"))?;
        let header = self.read_header(&document)?;
        self.head.store(header.height, Ordering::Relaxed);
        Ok((header, !decode::quiet_shards(&document).is_empty()))
    }

    /// The predecessor of `block`, if it is known.
    async fn before(&self, block: &BlockRef) -> Result<Option<BlockRef>, ChainError> {
        let lowest = block.height.saturating_sub(SKIPPED_MAX).max(GENESIS_HEIGHT);
        for height in (lowest..block.height).rev() {
            let document = self.document(height).await?;
            let Some(document) = self.read(&document)? else { continue };
            let header = self.read_header(&document)?;
            self.check_height(height, &header)?;
            if header.hash == block.parent_hash {
                return Ok(Some(header));
            }
            let reason = format!("block {height} is not the one that {} follows", block.height);
            return Err(self.http.inconsistent(reason));
        }
        Ok(None)
    }

    fn read_block(&self, document: &WireDocument<'_>) -> Result<Block, ChainError> {
        let header = self.read_header(document)?;
        decode::check_chunks(document).and_then(|()| proof::check(document)).map_err(|reason| {
            self.http.inconsistent(format!("block {}: {reason}", header.height))
        })?;
        Ok(Block { header, transfers: decode::transfers(document) })
    }

    /// Reads the newest block, unless it was read already: one call while nothing is new. Shards
    /// without outcomes are believed, as nothing is credited from here.
    async fn read_newest(&self) -> Result<bool, ChainError> {
        // The server answers with a redirect to the block itself.
        let document = self.http.get(NEWEST_BLOCK, "v0/last_block/optimistic", &[]).await?;
        let document = self.read(&document)?;
        let document =
            document.ok_or_else(|| self.http.malformed(NEWEST_BLOCK, "there is no last block"))?;
        if !self.unfinal.knows(&self.read_header(&document)?).await {
            let newest = self.read_block(&document)?;
            self.unfinal.add(newest, |height| self.unfinal_block(height)).await?;
        }
        Ok(true)
    }

    /// The block at `height`, or the next one below if that height was skipped.
    async fn unfinal_block(&self, height: u64) -> Result<Option<Block>, ChainError> {
        for at in (height.saturating_sub(UNFINAL_SKIPPED_MAX)..=height).rev() {
            let document = self.http.get(NEW_BLOCK, &format!("v0/block_opt/{at}"), &[]).await?;
            if let Some(document) = self.read(&document)? {
                return self.read_block(&document).map(Some);
            }
        }
        Ok(None)
    }

    /// True if the next block confirms the quiet shards of this one; `false` while there is no next
    /// block. A server that has lost the outcomes of a shard, or withholds them, still serves its
    /// headers.
    async fn is_borne_out(
        &self,
        block: &WireDocument<'_>,
        quiet: &HashSet<u64>,
    ) -> Result<bool, ChainError> {
        let header = &block.block.header;
        for at in header.height + 1..=self.head.load(Ordering::Relaxed) {
            let document = self.document(at).await?;
            let Some(next) = self.read(&document)? else { continue };
            return match decode::denying(&next, header.hash, quiet) {
                None => Ok(true),
                Some(shard) => {
                    let height = header.height;
                    let reason = format!("block {height}: outcomes of shard {shard} are missing");
                    Err(self.http.inconsistent(reason))
                }
            };
        }
        Ok(false)
    }
}

impl ChainSource for NearSource {
    fn network(&self) -> Network {
        Network::Near
    }

    async fn head(&self) -> Result<BlockRef, ChainError> {
        self.pinned.check(|| self.check_chain()).await?;
        let (newest, is_quiet) = self.newest_told().await?;
        // A block with a quiet shard counts once the next one confirms it. As the chain tip it
        // would be waited for without ever being read.
        let before = if is_quiet { self.before(&newest).await? } else { None };
        let head = before.unwrap_or(newest);
        self.unfinal.note_final(&head).await;
        Ok(head)
    }

    async fn header(&self, height: u64) -> Result<Option<BlockRef>, ChainError> {
        if !self.reaches(height).await? {
            return Ok(None);
        }
        let document = self.document(height).await?;
        let Some(document) = self.read(&document)? else { return Ok(None) };
        let header = self.read_header(&document)?;
        self.check_height(height, &header)?;
        Ok(Some(header))
    }

    async fn block(&self, height: u64) -> Result<Option<Block>, ChainError> {
        if !self.reaches(height).await? {
            return Ok(None);
        }
        let head = self.head.load(Ordering::Relaxed);
        for at in height..=head {
            let document = self.document(at).await?;
            let Some(document) = self.read(&document)? else { continue };
            let block = self.read_block(&document)?;
            self.check_height(at, &block.header)?;
            let before = document.block.header.prev_height;
            if at > height && before.is_some_and(|before| before >= height) {
                let reason = format!("block {height} is said to be skipped, but {at} follows it");
                return Err(self.http.inconsistent(reason));
            }
            let quiet = decode::quiet_shards(&document);
            let counts = quiet.is_empty() || self.is_borne_out(&document, &quiet).await?;
            return Ok(counts.then_some(block));
        }
        Err(self.http.inconsistent(format!("there is no block from {height} to the last, {head}")))
    }

    /// The payments in blocks that are not final yet, a second or two ahead of those that are
    /// credited. Transactions in no block cannot be read. A server without optimistic blocks shows
    /// payments that much later.
    async fn mempool(&self) -> Result<Waiting, ChainError> {
        Ok(self.unfinal.waiting_after(Network::Near, self.read_newest()).await)
    }

    /// Never: receipts show all value.
    async fn native_balances(
        &self,
        _at: &BlockRef,
        _addresses: &[String],
    ) -> Result<Option<Vec<BaseUnits>>, ChainError> {
        Ok(None)
    }

    async fn holdings(
        &self,
        at: &BlockRef,
        addresses: &[String],
        assets: &[TransferAsset],
    ) -> Result<Option<Held>, ChainError> {
        match &self.state {
            Some(state) => state.holdings(at, addresses, assets).await.map(Some),
            None => Ok(None),
        }
    }
}
