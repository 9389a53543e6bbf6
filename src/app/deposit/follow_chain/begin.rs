//! Start height of a network's first look.

use chrono::TimeDelta;

use super::{FollowError, Follower};
use crate::{
    app::Gateway,
    chain::{BlockRef, ChainError, ChainSource},
    config::ChainSourceKind,
    storage::{StorageError, addresses, cursors, cursors::Cursor},
};

/// Maximum difference between the time in a block's header and the database's clock.
const CLOCKS_APART: TimeDelta = TimeDelta::minutes(10);
/// More heights than any chain skips in a row.
const SKIPPED_MAX: u64 = 100;

impl<S: ChainSource> Follower<S> {
    /// Starts at the chain tip, or lower if addresses were given out before the network was
    /// watched: they may be paid already. A simulated chain is read from its first block, because
    /// it may be older than its watcher.
    pub(super) async fn begin(
        &self,
        gateway: &Gateway,
        head: &BlockRef,
    ) -> Result<Cursor, FollowError> {
        let network = self.settings.network;
        let first = match self.settings.source {
            ChainSourceKind::Simulated => self.source.header(0).await?,
            ChainSourceKind::Node => self.before_first_address(gateway, head).await?,
            ChainSourceKind::Off => None,
        };
        let block = first.as_ref().unwrap_or(head);
        let below = head.height.saturating_sub(block.height);
        tracing::info!(%network, height = block.height, "begins {below} blocks below the head");
        let mut tx = gateway.db.begin().await?;
        cursors::start(&mut tx, network, (block.height, &block.hash)).await?;
        let cursor = cursors::load(&mut tx, network).await?;
        tx.commit().await.map_err(StorageError::from)?;
        cursor.ok_or(FollowError::CursorMoved)
    }

    /// A block older than the oldest address given out while the network was not watched; `None` if
    /// there was no such address. The steps back double, so a day of the fastest chain takes some
    /// twenty calls, and at most twice the necessary number of blocks is read.
    async fn before_first_address(
        &self,
        gateway: &Gateway,
        head: &BlockRef,
    ) -> Result<Option<BlockRef>, FollowError> {
        let network = self.settings.network;
        let mut connection = gateway.db.connection().await?;
        let given = addresses::oldest_unwatched(&mut connection, network.name()).await?;
        drop(connection);
        let Some(given) = given else { return Ok(None) };
        let (mut found, mut back) = (head.clone(), 1);
        while found.mined_at > given - CLOCKS_APART && found.height > 0 {
            let height = head.height.saturating_sub(back);
            let Some(older) = self.header_from(height).await? else {
                tracing::error!(%network, height, "payments up to {} were not read", found.height);
                break;
            };
            found = older;
            back *= 2;
        }
        Ok(Some(found))
    }

    /// The newest block up to `height`; `None` if the node keeps no block that old.
    pub(super) async fn header_from(&self, height: u64) -> Result<Option<BlockRef>, FollowError> {
        for height in (height.saturating_sub(SKIPPED_MAX)..=height).rev() {
            match self.source.header(height).await {
                Ok(None) => {}
                Err(ChainError::Refused { .. }) => return Ok(None),
                found => return Ok(found?),
            }
        }
        Ok(None)
    }
}
