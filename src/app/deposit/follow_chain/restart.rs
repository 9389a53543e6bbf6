//! Going on after a reorg deeper than the remembered blocks, from a block that an operator names.

use super::{FollowError, Follower, rewind::leave_payments_above};
use crate::{
    app::Gateway,
    chain::{BlockRef, ChainSource},
    storage::{StorageError, alerts, audit, cursors, cursors::Cursor, deposits},
};

/// The audit names under which an operator's restart is recorded.
const RESTARTED: (&str, &str) = ("chain", "restart");

#[derive(Debug, thiserror::Error)]
pub enum RestartError {
    #[error("no chain-watcher has read this network yet")]
    NeverFollowed,
    #[error(
        "no reorganisation is deeper than the watcher remembers; it continues by itself once its node answers"
    )]
    NotNeeded,
    #[error(
        "the watcher remembers blocks from {lowest} on, and the node has none of them; name a lower one"
    )]
    TooHigh { lowest: u64 },
    #[error("the node has no block {height}")]
    NoBlock { height: u64 },
    #[error("a deposit was read in a block {height} that the node does not have; name a lower one")]
    BeforeTheFork { height: u64 },
    #[error(transparent)]
    Follow(#[from] FollowError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The result of a restart, or of its preview.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restarted {
    /// The block that the watcher stood on.
    pub from: u64,
    /// Deposits of blocks above the named one: they are looked for again.
    pub deposits: u64,
}

impl<S: ChainSource> Follower<S> {
    /// Sets the cursor back to the block at `height` and takes everything read above it out of its
    /// blocks, as any reorg does. Without `sure`, the operator and his reason, it only reports the
    /// result that this would have.
    ///
    /// Refused unless no remembered block stands on the node's chain, and unless the block is below
    /// the fork as far as rows can show: below all remembered blocks, with the newest deposit up to
    /// it on the node's chain.
    pub async fn restart(
        &mut self,
        gateway: &Gateway,
        height: u64,
        sure: Option<(&str, &str)>,
    ) -> Result<Restarted, RestartError> {
        let network = self.settings.network;
        let mut connection = gateway.db.connection().await?;
        let cursor = cursors::load(&mut connection, network).await?;
        drop(connection);
        let cursor = cursor.ok_or(RestartError::NeverFollowed)?;
        let block = self.block_to_restart_from(gateway, &cursor, height).await?;
        let mut tx = gateway.db.begin().await?;
        let (from, to) = ((cursor.height, cursor.hash.as_str()), (height, block.hash.as_str()));
        if !cursors::advance(&mut tx, network, from, to).await? {
            return Err(FollowError::CursorMoved.into());
        }
        let deposits = deposits::orphan_above(&mut tx, network, height, cursor.height).await?;
        leave_payments_above(&mut tx, network, height).await?;
        cursors::forget_above(&mut tx, network, height).await?;
        cursors::remember(&mut tx, network, to).await?;
        cursors::doubt_after(&mut tx, network, block.mined_at).await?;
        // Told anew if it happens again.
        alerts::withdraw(&mut tx, "reorg_too_deep", network.name()).await?;
        if let Some((by, reason)) = sure {
            let detail = format!("from block {} back to {height}: {reason}", cursor.height);
            audit::note(&mut tx, RESTARTED, network.name(), by, &detail).await?;
            tx.commit().await.map_err(StorageError::from)?;
        }
        Ok(Restarted { from: cursor.height, deposits })
    }

    async fn block_to_restart_from(
        &self,
        gateway: &Gateway,
        cursor: &Cursor,
        height: u64,
    ) -> Result<BlockRef, RestartError> {
        let network = self.settings.network;
        let head = self.source.head().await.map_err(FollowError::from)?;
        match self.common_ancestor(gateway, cursor, &head).await {
            Err(FollowError::ReorgTooDeep { .. }) => {}
            Err(error) => return Err(error.into()),
            Ok(_) => return Err(RestartError::NotNeeded),
        }
        let mut connection = gateway.db.connection().await?;
        let lowest = cursors::lowest_remembered(&mut connection, network).await?;
        let newest = deposits::newest_block(&mut connection, network, height).await?;
        drop(connection);
        let lowest = lowest.unwrap_or(cursor.height);
        if height >= lowest {
            return Err(RestartError::TooHigh { lowest });
        }
        let block = self.source.header(height).await.map_err(FollowError::from)?;
        let block = block.filter(|block| block.height == height);
        let block = block.ok_or(RestartError::NoBlock { height })?;
        if let Some((height, hash)) = newest {
            let there = self.source.header(height).await.map_err(FollowError::from)?;
            if there.is_none_or(|there| there.hash != hash) {
                return Err(RestartError::BeforeTheFork { height });
            }
        }
        Ok(block)
    }
}
