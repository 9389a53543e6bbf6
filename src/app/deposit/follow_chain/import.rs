//! Import, by an operator, of a deposit that the watcher missed, recorded exactly as the watcher
//! would have done.

use super::{FollowError, Follower};
use crate::{
    app::{
        Gateway,
        deposit::explain::{IMPORTED, subject},
    },
    chain::{Block, ChainSource, Transfer, TransferAsset},
    deposit::FoundBy,
    storage::{
        PgConnection, StorageError, Tx, audit,
        cursors::{self, Cursor},
        deposit_search,
    },
};

#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    #[error(
        "block {height} is above what the watcher has read ({cursor}); it will find the deposit itself"
    )]
    NotRead { height: u64, cursor: u64 },
    #[error("no chain-watcher has read this network yet")]
    NeverFollowed,
    #[error(
        "the node reports another block {height} than the watcher has read; wait until they agree"
    )]
    OtherBlock { height: u64 },
    #[error(transparent)]
    Follow(#[from] FollowError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl<S: ChainSource> Follower<S> {
    /// Records the transfers of the block at `height` whose keys are in `wanted`. Returns the
    /// number of new deposits.
    ///
    /// The cursor's row is locked meanwhile, so a reorg comes either before, and the block is
    /// another one, or after, and finds the rows.
    pub async fn import(
        &mut self,
        gateway: &Gateway,
        height: u64,
        wanted: &[String],
        by: &str,
    ) -> Result<u32, ImportError> {
        let (mut tx, cursor, block) = self.hold_block(gateway, height).await?;
        let mut transfers = Vec::new();
        for transfer in block.transfers.into_iter().filter(|t| wanted.contains(&t.key)) {
            if !self.is_counted_by_balance(&mut tx, &transfer, height).await? {
                transfers.push(transfer);
            }
        }
        let recorded = self
            .record_transfers(&mut tx, (&transfers, FoundBy::Transaction), Some(&block.header))
            .await?;
        if recorded == 0 {
            return Ok(0);
        }
        self.finalize(gateway, &mut tx, cursor.height).await?;
        for transfer in &transfers {
            let detail = format!("block {height}, transaction {}", transfer.tx_hash);
            let subject = subject(self.settings.network, &transfer.key);
            audit::note(&mut tx, IMPORTED, &subject, by, &detail).await?;
        }
        tx.commit().await.map_err(StorageError::from)?;
        gateway.relay_wake.notify_one();
        Ok(recorded)
    }

    /// The block at `height`, on which the node and the watcher agree, in a transaction that locks
    /// the cursor's row.
    pub(super) async fn hold_block(
        &mut self,
        gateway: &Gateway,
        height: u64,
    ) -> Result<(Tx, Cursor, Block), ImportError> {
        let network = self.settings.network;
        let block = self.source.block(height).await.map_err(FollowError::from)?;
        let block = block.filter(|block| block.header.height == height);
        let block = block.ok_or(ImportError::OtherBlock { height })?;
        // Most of the block is read before the cursor is locked.
        let mut connection = gateway.db.connection().await?;
        self.watch.refresh(&mut connection).await?;
        drop(connection);
        let mut tx = gateway.db.begin().await?;
        let cursor = cursors::load(&mut tx, network).await?.ok_or(ImportError::NeverFollowed)?;
        if height > cursor.height {
            return Err(ImportError::NotRead { height, cursor: cursor.height });
        }
        let at = (cursor.height, cursor.hash.as_str());
        if !cursors::advance(&mut tx, network, at, at).await? {
            return Err(FollowError::CursorMoved.into());
        }
        // A block deeper than those remembered is deeper than any reorg that the watcher follows.
        let read = cursors::remembered_hash(&mut tx, network, height).await?;
        if read.is_some_and(|hash| hash != block.header.hash) {
            return Err(ImportError::OtherBlock { height });
        }
        self.watch.refresh(&mut tx).await?;
        Ok((tx, cursor, block))
    }

    /// True if the watcher has counted a coin by the address's balance because no block showed it.
    async fn is_counted_by_balance(
        &self,
        tx: &mut PgConnection,
        transfer: &Transfer,
        height: u64,
    ) -> Result<bool, StorageError> {
        let watched = self.watch.find(&transfer.to);
        let Some(watched) = watched.filter(|_| transfer.asset == TransferAsset::Native) else {
            return Ok(false);
        };
        let height = i64::try_from(height).unwrap_or(i64::MAX);
        let network = self.settings.network;
        let key = deposit_search::by_balance(tx, network, watched.address_id, height).await?;
        Ok(key.is_some())
    }
}
