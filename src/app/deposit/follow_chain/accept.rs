//! A deposit that was reversed in the books and came back, credited again by an operator's
//! decision.

use super::{FollowError, Follower, balances::native, import::ImportError};
use crate::{
    app::{
        Gateway,
        deposit::explain::{ACCEPTED, subject},
    },
    asset::Network,
    chain::{BlockRef, ChainSource, Transfer},
    deposit::FoundBy,
    money::BaseUnits,
    storage::{
        PgConnection, StorageError, Tx, addresses, audit,
        cursors::{self, Cursor},
        deposits::{
            by_balance,
            returned::{self, Depth, Reversed},
        },
        invoices, payouts,
    },
};

#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    #[error("block {height} has {have} confirmations of {need}; wait until it has them")]
    NotFinal { height: u64, have: u64, need: u64 },
    #[error("nodes of {0} do not report balances")]
    CannotTell(Network),
    #[error(
        "the starting balance of {address} is not known; set it with gatewayctl balances start"
    )]
    NoStart { address: String },
    #[error(
        "{address} holds {} base units at block {height}, less than {} that are known there plus the starting balance of {}",
        .held.get(),
        .known.get(),
        .start.get()
    )]
    NotHeld { address: String, height: u64, held: BaseUnits, start: BaseUnits, known: BaseUnits },
    #[error(transparent)]
    Read(#[from] ImportError),
    #[error(transparent)]
    Follow(#[from] FollowError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Transfers to accept, in a transaction that locks the cursor's row.
struct Back {
    tx: Tx,
    cursor: Cursor,
    /// The block of the transfers, or the one at which the value was found by balance.
    block: BlockRef,
    /// Each with the reversed deposit that it replaces.
    transfers: Vec<Transfer>,
    reversed: Vec<Reversed>,
}

impl<S: ChainSource> Follower<S> {
    /// Creates a new deposit for each transfer of the block at `height` whose key is in `wanted`,
    /// in place of the reversed deposit with that key. Returns the number of new deposits. A key of
    /// a deposit found by balance must be the only one in `wanted`, with the height at which it was
    /// found.
    ///
    /// The reversed rows keep all their bookings; the new ones are final and are processed like any
    /// other deposit. Nothing is written if one of them is not final, or no longer ours. A
    /// concurrent second call finds no reversed deposit under the key.
    pub async fn accept(
        &mut self,
        gateway: &Gateway,
        height: u64,
        wanted: &[String],
        (by, reason): (&str, &str),
    ) -> Result<u32, AcceptError> {
        let network = self.settings.network;
        let at = self.check_cursor(gateway).await?;
        let by_balance = match wanted {
            [key] => self.is_by_balance(gateway, key).await?.then_some(key),
            [] | [_, _, ..] => None,
        };
        let (found_by, back) = match by_balance {
            Some(key) => (FoundBy::Balance, self.held_again(gateway, &at, height, key).await?),
            None => (FoundBy::Transaction, Some(self.shown_again(gateway, height, wanted).await?)),
        };
        let Some(Back { mut tx, cursor, block, transfers, reversed }) =
            back.filter(|back| !back.reversed.is_empty())
        else {
            return Ok(0);
        };
        give_way(&mut tx, &reversed).await?;
        self.record_transfers(&mut tx, (&transfers, found_by), Some(&block)).await?;
        let mut accepted = Vec::with_capacity(reversed.len());
        for (transfer, reversed) in transfers.iter().zip(&reversed) {
            let id = returned::succeed(&mut tx, network, &transfer.key, reversed.id).await?;
            let lost = || StorageError::damaged("deposit", "what came back is not recorded anew");
            accepted.push(id.ok_or_else(lost)?);
        }
        self.finalize(gateway, &mut tx, cursor.height).await?;
        for id in &accepted {
            let depth = returned::depth(&mut tx, *id).await?.filter(|depth| !depth.is_final);
            if let Some(depth) = depth {
                return Err(self.not_final(&depth, height, cursor.height));
            }
        }
        for transfer in &transfers {
            let detail = format!("block {height}, transaction {}: {reason}", transfer.tx_hash);
            let subject = subject(network, &transfer.key);
            audit::note(&mut tx, ACCEPTED, &subject, by, &detail).await?;
        }
        tx.commit().await.map_err(StorageError::from)?;
        gateway.relay_wake.notify_one();
        Ok(u32::try_from(accepted.len()).unwrap_or(u32::MAX))
    }

    async fn is_by_balance(&self, gateway: &Gateway, key: &str) -> Result<bool, StorageError> {
        let mut connection = gateway.db.connection().await?;
        by_balance::is_by_balance(&mut connection, self.settings.network, key).await
    }

    /// The transfers in `wanted` that the block at `height` contains.
    async fn shown_again(
        &mut self,
        gateway: &Gateway,
        height: u64,
        wanted: &[String],
    ) -> Result<Back, AcceptError> {
        let (mut tx, cursor, block) = self.hold_block(gateway, height).await?;
        let (mut transfers, mut reversed) = (Vec::new(), Vec::new());
        for transfer in block.transfers.into_iter().filter(|t| wanted.contains(&t.key)) {
            // A node may list a transfer twice.
            let is_new = transfers.iter().all(|known: &Transfer| known.key != transfer.key);
            let network = self.settings.network;
            let found = returned::reversed(&mut tx, network, &transfer.key).await?;
            if let Some(found) = found.filter(|_| is_new) {
                reversed.push(found);
                transfers.push(transfer);
            }
        }
        Ok(Back { tx, cursor, block: block.header, transfers, reversed })
    }

    /// The value found by balance at `height`, if its address still holds it at the block `at` in
    /// addition to all other value known there. `None` if it is no longer reversed.
    ///
    /// The node keeps the state of `at`, while that of `height` may be long gone. The watcher has
    /// read that the value was there at `height`, on the branch that it still follows.
    async fn held_again(
        &mut self,
        gateway: &Gateway,
        at: &BlockRef,
        height: u64,
        key: &str,
    ) -> Result<Option<Back>, AcceptError> {
        let network = self.settings.network;
        let mut connection = gateway.db.connection().await?;
        let found = by_balance::returned(&mut connection, network, key).await?;
        drop(connection);
        let Some(found) = found else { return Ok(None) };
        let address = found.match_key.clone();
        let Some(start) = found.start else { return Err(AcceptError::NoStart { address }) };
        let held = self.source.native_balances(at, std::slice::from_ref(&address)).await;
        let held = held.map_err(FollowError::from)?.and_then(|held| held.first().copied());
        let held = held.ok_or(AcceptError::CannotTell(network))?;
        let (mut tx, cursor, block) = self.hold_block(gateway, height).await?;
        let again = by_balance::returned(&mut tx, network, key).await?;
        let Some(reversed) = returned::reversed(&mut tx, network, key).await? else {
            return Ok(None);
        };
        if cursor.hash != at.hash || again.as_ref() != Some(&found) || found.height != height {
            return Err(ImportError::from(FollowError::CursorMoved).into());
        }
        // The deposit has a block, so it is part of the known value.
        let ids = [found.address_id];
        let known = addresses::known_native(&mut tx, network.name(), &ids, None).await?;
        let known = known.get(&found.address_id).copied().unwrap_or(BaseUnits::ZERO);
        if start.checked_add(known).is_none_or(|needed| held < needed) {
            let height = cursor.height;
            return Err(AcceptError::NotHeld { address, height, held, start, known });
        }
        let transfer = native(key.to_owned(), found.tx_hash, &address, found.amount);
        let (transfers, reversed) = (vec![transfer], vec![reversed]);
        Ok(Some(Back { tx, cursor, block: block.header, transfers, reversed }))
    }

    /// The block of the cursor. The node must be on the branch that the watcher has read: for
    /// blocks older than those it remembers there is no other proof.
    async fn check_cursor(&self, gateway: &Gateway) -> Result<BlockRef, AcceptError> {
        let mut connection = gateway.db.connection().await?;
        let cursor = cursors::load(&mut connection, self.settings.network).await?;
        drop(connection);
        let cursor = cursor.ok_or(ImportError::NeverFollowed)?;
        let header = self.source.header(cursor.height).await.map_err(FollowError::from)?;
        let header = header.filter(|header| header.hash == cursor.hash);
        Ok(header.ok_or(ImportError::OtherBlock { height: cursor.height })?)
    }

    fn not_final(&self, depth: &Depth, height: u64, head: u64) -> AcceptError {
        let own = u64::try_from(depth.min_confirmations).unwrap_or(1);
        let need = self.settings.confirmations.max(own);
        AcceptError::NotFinal { height, have: (head + 1).saturating_sub(height), need }
    }
}

/// Under their owners' locks, like every change of the amount that a deposit counts for.
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
