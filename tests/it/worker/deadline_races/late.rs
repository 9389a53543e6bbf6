//! The same chain as a node tells it that is a minute behind and has no mempool.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use chrono::TimeDelta;
use gateway::{
    app::{Gateway, deposit::follow_chain::Follower},
    asset::Network,
    chain::{Block, BlockRef, ChainError, ChainSource, Source},
    config::ChainSettings,
};

pub struct LateNode {
    source: Source,
    shown: Arc<AtomicU64>,
}

impl LateNode {
    /// A follower of it, which sees no block above `shown`.
    pub fn follower(gateway: &Gateway, shown: &Arc<AtomicU64>) -> Follower<Self> {
        let source = Source::simulated(Network::Polygon, gateway.db.clone());
        let head_age_max = Some(TimeDelta::minutes(5));
        let settings = ChainSettings { head_age_max, ..gateway.config.chain(Network::Polygon) };
        Follower::new(Self { source, shown: shown.clone() }, settings)
    }

    fn is_shown(&self, height: u64) -> bool {
        height <= self.shown.load(Ordering::Relaxed)
    }
}

impl ChainSource for LateNode {
    fn network(&self) -> Network {
        self.source.network()
    }

    async fn head(&self) -> Result<BlockRef, ChainError> {
        let head = self.source.head().await?;
        if self.is_shown(head.height) {
            return Ok(head);
        }
        let shown = self.source.header(self.shown.load(Ordering::Relaxed)).await?;
        Ok(shown.expect("a block that exists is shown"))
    }

    async fn header(&self, height: u64) -> Result<Option<BlockRef>, ChainError> {
        if self.is_shown(height) { self.source.header(height).await } else { Ok(None) }
    }

    async fn block(&self, height: u64) -> Result<Option<Block>, ChainError> {
        if self.is_shown(height) { self.source.block(height).await } else { Ok(None) }
    }
}
