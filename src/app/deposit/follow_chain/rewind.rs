//! Reorganisations: back to the last block that both chains share.

use super::{FollowError, Follower};
use crate::{
    app::Gateway,
    asset::Network,
    chain::{BlockRef, ChainSource},
    storage::{
        PgConnection, StorageError, alerts, cursors, cursors::Cursor, deposits, nc_payouts,
        payouts::reorgs, x402,
    },
};

impl<S: ChainSource> Follower<S> {
    /// Returns whether exactly this block was seen before: then a lower head means a lagging node,
    /// not another chain.
    pub(super) async fn is_ancestor_known(
        &self,
        gateway: &Gateway,
        head: &BlockRef,
    ) -> Result<bool, FollowError> {
        let mut connection = gateway.db.connection().await?;
        let network = self.settings.network;
        let hash = cursors::remembered_hash(&mut connection, network, head.height).await?;
        Ok(hash.is_some_and(|hash| hash == head.hash))
    }

    /// Moves the cursor to the common ancestor and takes the deposits of orphaned blocks out of
    /// them. `false` if there is nothing to go back from: the node's chain holds the block that we
    /// stand on, or its head lies below all that we remember.
    pub(super) async fn rewind(
        &mut self,
        gateway: &Gateway,
        cursor: &mut Cursor,
        head: &BlockRef,
    ) -> Result<bool, FollowError> {
        let network = self.settings.network;
        let Some(ancestor) = self.common_ancestor(gateway, cursor, head).await? else {
            return Ok(false);
        };
        let depth = cursor.height - ancestor.height;
        tracing::warn!(%network, depth, height = ancestor.height, "the chain reorganised");
        metrics::counter!("chain_reorgs_total", "network" => network.name()).increment(1);
        let mut tx = gateway.db.begin().await?;
        let (from, to) =
            ((cursor.height, cursor.hash.as_str()), (ancestor.height, ancestor.hash.as_str()));
        if !cursors::advance(&mut tx, network, from, to).await? {
            return Err(FollowError::CursorMoved);
        }
        deposits::orphan_above(&mut tx, network, ancestor.height, cursor.height).await?;
        leave_payments_above(&mut tx, network, ancestor.height).await?;
        cursors::forget_above(&mut tx, network, ancestor.height).await?;
        cursors::doubt_after(&mut tx, network, ancestor.mined_at).await?;
        tx.commit().await.map_err(StorageError::from)?;
        self.balances_read_at = None;
        self.may_have_waiting = true;
        cursor.height = ancestor.height;
        cursor.hash = ancestor.hash;
        Ok(true)
    }

    /// The last block that we and the node's chain share, if it is not the one that we stand on,
    /// and if the node's chain reaches up to any that we remember.
    pub(super) async fn common_ancestor(
        &self,
        gateway: &Gateway,
        cursor: &Cursor,
        head: &BlockRef,
    ) -> Result<Option<BlockRef>, FollowError> {
        let network = self.settings.network;
        let here = self.source.header(cursor.height).await?;
        if here.is_some_and(|here| here.hash == cursor.hash) {
            return Ok(None);
        }
        // Above its head a node has no blocks to compare.
        let top = cursor.height.min(head.height.saturating_add(1));
        let (mut height, mut compared) = (top, false);
        loop {
            let mut connection = gateway.db.connection().await?;
            let below = cursors::remembered_below(&mut connection, network, height).await?;
            drop(connection);
            let Some((below, seen)) = below else { break };
            (height, compared) = (below, true);
            let header = self.source.header(height).await?;
            if let Some(header) = header.filter(|header| header.hash == seen) {
                return Ok(Some(header));
            }
        }
        if top < cursor.height && !compared {
            // A node that catches up from far below says nothing against the blocks that we have.
            return Ok(None);
        }
        let depth = cursor.height - height;
        let mut connection = gateway.db.connection().await?;
        let detail = format!("no common block within {depth} blocks below {}", cursor.height);
        alerts::raise(&mut connection, "reorg_too_deep", network.name(), &detail).await?;
        Err(FollowError::ReorgTooDeep { depth })
    }
}

/// Takes back the ends of payments in blocks above `height`, which are gone: payouts that were
/// final too, and settlements of programs' payments.
pub(super) async fn leave_payments_above(
    tx: &mut PgConnection,
    network: Network,
    height: u64,
) -> Result<(), StorageError> {
    let orders = reorgs::mark_above(tx, network, height).await?;
    let payouts = nc_payouts::reorgs::open_above(tx, network, height).await?;
    let settlements = x402::reorgs::mark_above(tx, network, height).await?;
    if orders + payouts + settlements > 0 {
        tracing::error!(%network, height, orders, payouts, settlements, "a reorg replaced payments that were final");
    }
    Ok(())
}
