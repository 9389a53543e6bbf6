//! A deposit that was taken out of the books and came back, credited again because a person says so.

use super::{FollowError, Follower, import::ImportError};
use crate::{
    app::{
        Gateway,
        explain_deposit::{ACCEPTED, subject},
    },
    chain::{ChainSource, Transfer},
    storage::{
        PgConnection, StorageError, audit, cursors,
        deposits::returned::{self, Depth, Reversed},
        invoices, payouts,
    },
};

#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    #[error("block {height} has {have} confirmations of {need}; wait until it has them")]
    NotFinal { height: u64, have: u64, need: u64 },
    #[error(transparent)]
    Read(#[from] ImportError),
    #[error(transparent)]
    Follow(#[from] FollowError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl<S: ChainSource> Follower<S> {
    /// Gives those transfers of the block at `height` whose keys are `wanted` a deposit of their own each, in place of the
    /// reversed one that has the key. Returns how many.
    ///
    /// The reversed rows stay with all that was booked for them; the new ones are final and go the way of any other. Nothing
    /// is written if one of them is not final, or not ours any more. Who comes second finds nothing reversed under the key.
    pub async fn accept(
        &mut self,
        gateway: &Gateway,
        height: u64,
        wanted: &[String],
        (by, reason): (&str, &str),
    ) -> Result<u32, AcceptError> {
        self.check_cursor(gateway).await?;
        let (mut tx, cursor, block) = self.hold_block(gateway, height).await?;
        let mut transfers = Vec::new();
        let mut returned = Vec::new();
        for transfer in block.transfers.into_iter().filter(|t| wanted.contains(&t.key)) {
            // A node may list one twice.
            let is_new = transfers.iter().all(|known: &Transfer| known.key != transfer.key);
            let network = self.settings.network;
            let reversed = returned::reversed(&mut tx, network, &transfer.key).await?;
            if let Some(reversed) = reversed.filter(|_| is_new) {
                returned.push(reversed);
                transfers.push(transfer);
            }
        }
        if returned.is_empty() {
            return Ok(0);
        }
        give_way(&mut tx, &returned).await?;
        self.record_transfers(&mut tx, &transfers, Some(&block.header)).await?;
        let mut accepted = Vec::with_capacity(returned.len());
        for (transfer, reversed) in transfers.iter().zip(&returned) {
            let network = self.settings.network;
            let id = returned::succeed(&mut tx, network, &transfer.key, reversed.id).await?;
            let lost = || StorageError::damaged("deposit", "what came back is not recorded anew");
            accepted.push(id.ok_or_else(lost)?);
        }
        self.finalize(&mut tx, cursor.height).await?;
        for id in &accepted {
            let depth = returned::depth(&mut tx, *id).await?.filter(|depth| !depth.is_final);
            if let Some(depth) = depth {
                return Err(self.not_final(&depth, height, cursor.height));
            }
        }
        for transfer in &transfers {
            let detail = format!("block {height}, transaction {}: {reason}", transfer.tx_hash);
            let subject = subject(self.settings.network, &transfer.key);
            audit::note(&mut tx, ACCEPTED, &subject, by, &detail).await?;
        }
        tx.commit().await.map_err(StorageError::from)?;
        gateway.relay_wake.notify_one();
        Ok(u32::try_from(accepted.len()).unwrap_or(u32::MAX))
    }

    /// The node must be on the branch that the watcher has read: of blocks older than it remembers, nothing else tells.
    async fn check_cursor(&self, gateway: &Gateway) -> Result<(), AcceptError> {
        let mut connection = gateway.db.connection().await?;
        let cursor = cursors::load(&mut connection, self.settings.network).await?;
        drop(connection);
        let cursor = cursor.ok_or(ImportError::NeverFollowed)?;
        let header = self.source.header(cursor.height).await.map_err(FollowError::from)?;
        match header.filter(|header| header.hash == cursor.hash) {
            Some(_) => Ok(()),
            None => Err(ImportError::OtherBlock { height: cursor.height }.into()),
        }
    }

    fn not_final(&self, depth: &Depth, height: u64, head: u64) -> AcceptError {
        let own = u64::try_from(depth.min_confirmations).unwrap_or(1);
        let need = self.settings.confirmations.max(own);
        AcceptError::NotFinal { height, have: (head + 1).saturating_sub(height), need }
    }
}

/// Under their owners' locks, like everything that changes what a deposit counts for.
async fn give_way(tx: &mut PgConnection, returned: &[Reversed]) -> Result<(), StorageError> {
    let mut owners: Vec<_> = returned.iter().filter_map(|reversed| reversed.invoice_id).collect();
    owners.sort_unstable();
    owners.dedup();
    invoices::lock_all(tx, &owners).await?;
    let mut orders: Vec<_> =
        returned.iter().filter_map(|reversed| reversed.payout_order_id).collect();
    orders.sort_unstable();
    orders.dedup();
    payouts::lock_all(tx, &orders).await?;
    for reversed in returned {
        if !returned::give_up_key(tx, reversed.id).await? {
            return Err(StorageError::damaged("deposit", "it is reversed no more"));
        }
    }
    Ok(())
}
