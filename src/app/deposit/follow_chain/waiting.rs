//! Transactions that wait for a block: seen while the node lists them, withdrawn when it no longer
//! does.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::{FollowError, Follower, unknown::is_unknown};
use crate::{
    app::Gateway,
    chain::{BlockRef, ChainError, ChainSource, Reading, Waiting},
    deposit::FoundBy,
    storage::{StorageError, cursors::Cursor, deposits, deposits::Unmined},
};

impl<S: ChainSource> Follower<S> {
    /// Records the transactions that wait for a block, and withdraws those that waited when the
    /// look began and wait no more.
    pub(super) async fn record_mempool(
        &mut self,
        gateway: &Gateway,
        cursor: &Cursor,
        waiting: &Waiting,
        looked_at: DateTime<Utc>,
    ) -> Result<u32, FollowError> {
        if waiting.transfers.is_empty() && !self.may_have_waiting {
            return Ok(0);
        }
        let mut tx = gateway.db.begin().await?;
        self.watch.refresh(&mut tx).await?;
        // Of a token that pays for nothing, its block is soon enough to learn of it.
        let mut found = self.sightings(&waiting.transfers, FoundBy::Transaction);
        found.retain(|sighting| !is_unknown(sighting));
        let seen = self.record_found(&mut tx, (&waiting.transfers, &found), None).await?;
        let unmined = deposits::unmined(&mut tx, self.settings.network).await?;
        let withdrawn = match vanished(&unmined, waiting, cursor).as_slice() {
            [] => 0,
            // Watchers are replaced while the cursor stands still, for ten minutes on bitcoin, so
            // the cursor cannot show which watcher was overtaken. The rows can.
            ids => deposits::withdraw(&mut tx, ids, looked_at).await?,
        };
        tx.commit().await.map_err(StorageError::from)?;
        self.may_have_waiting = unmined.len() > withdrawn;
        Ok(seen)
    }

    /// The moment up to which every payment is known, after a look that began at `looked_at` and
    /// reached `head`.
    ///
    /// A mempool that was read whole shows every payment made until the look began, for mined ones
    /// waited there before. Otherwise blocks alone do, and a payment may stand in one that nodes do
    /// not show yet: TRON's are shown a minute late. So nothing is known beyond the date of the
    /// newest block, by the database's clock where that block is dated in the future.
    pub(super) async fn known_through(
        &self,
        cursor: &Cursor,
        head: &BlockRef,
        waiting: &Waiting,
        looked_at: DateTime<Utc>,
    ) -> Result<DateTime<Utc>, ChainError> {
        // A node that is behind the cursor does not know the payments made since.
        let is_at_tip = waiting.tip.as_ref().is_none_or(|(_, hash)| *hash == cursor.hash);
        let is_whole = waiting.reading == Reading::Whole && is_at_tip;
        // Where blocks are made on demand, the next one may never come.
        if is_whole || self.settings.head_age_max.is_none() {
            return Ok(looked_at);
        }
        Ok(self.source.dated_through(head).await?.min(looked_at))
    }
}

/// Checks that all blocks were read that the node had when it listed its mempool. It may be ahead
/// of those that must agree with it, or on a branch of its own.
fn tip_is_read(waiting: &Waiting, cursor: &Cursor) -> bool {
    let is_read = |(height, hash): &(u64, String)| *height < cursor.height || *hash == cursor.hash;
    waiting.tip.as_ref().is_none_or(is_read)
}

/// The transactions that neither wait nor can stand in a block that is still to be read. A node
/// lists far more than one look asks it for, so a transaction that is not among the transfers has
/// not vanished for that.
fn vanished(unmined: &[Unmined], waiting: &Waiting, cursor: &Cursor) -> Vec<Uuid> {
    if waiting.reading == Reading::Loading || !tip_is_read(waiting, cursor) {
        return Vec::new();
    }
    let gone = unmined.iter().filter(|deposit| !waiting.listed.contains(&deposit.tx_hash));
    gone.map(|deposit| deposit.id).collect()
}
