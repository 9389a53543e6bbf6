//! Value that blocks do not show: the balance of an address beyond its start and the deposits known
//! there.

use std::{collections::BTreeMap, sync::Arc};

use chrono::{DateTime, Utc};

use super::{FollowError, Follower};
use crate::{
    app::Gateway,
    asset::{Network, catalogue::Catalogue},
    chain::{BlockRef, ChainError, ChainSource, Transfer, TransferAmount, TransferAsset},
    deposit::FoundBy,
    money::BaseUnits,
    storage::{
        PgConnection, StorageError,
        addresses::{self, BalanceTarget},
        alerts,
        cursors::{self, Cursor},
        deposits::by_balance::{self, Gone},
    },
};

/// Addresses whose balance is compared per look; the soonest deadlines come first.
const BALANCES_MAX: i64 = 2_000;

impl<S: ChainSource> Follower<S> {
    /// Compares balances at `head`, once per head, and records the unexplained ones. Returns how
    /// many were recorded.
    pub(super) async fn read_balances(
        &mut self,
        gateway: &Gateway,
        cursor: &Cursor,
        head: &BlockRef,
    ) -> Result<u32, FollowError> {
        if self.balances_read_at.as_ref() == Some(&head.hash) {
            return Ok(0);
        }
        let network = self.settings.network;
        let mut connection = gateway.db.connection().await?;
        let coin = Catalogue::get().native(network).token_id();
        let mut targets =
            addresses::balance_targets(&mut connection, network.name(), &coin, BALANCES_MAX)
                .await?;
        drop(connection);
        let keys = match_keys(&targets);
        let balances =
            if keys.is_empty() { None } else { self.source.native_balances(head, &keys).await? };
        let Some(balances) = balances else {
            // No address to compare, or a chain whose blocks show everything: nothing new before
            // the next head.
            self.record_residues(gateway, cursor, head, &[]).await?;
            self.balances_read_at = Some(head.hash.clone());
            return Ok(0);
        };
        self.read_starts(gateway, head, &mut targets, &balances).await?;
        let mut residues: Vec<_> = targets
            .iter()
            .zip(balances)
            .filter_map(|(target, balance)| Residue::of(network, target, balance, head))
            .collect();
        self.date_residues(gateway, head, &mut residues).await?;
        let recorded = self.record_residues(gateway, cursor, head, &residues).await?;
        self.balances_read_at = Some(head.hash.clone());
        Ok(recorded)
    }

    /// Reads the balances that fresh addresses had when they were given.
    ///
    /// Where everything that an address holds at `head` is known, it held nothing then, for nothing
    /// leaves an address that is compared: that is nearly every one, and needs no older state. For
    /// the rest the node is asked; where it no longer keeps that state, the unexplained value
    /// counts as there before, and an operator is alerted, who may know better. Guessing otherwise
    /// would pay invoices with coins of a re-used key. Value that arrives from then on is found.
    async fn read_starts(
        &self,
        gateway: &Gateway,
        head: &BlockRef,
        targets: &mut [BalanceTarget],
        balances: &[BaseUnits],
    ) -> Result<(), FollowError> {
        let mut by_height: BTreeMap<u64, Vec<Fresh<'_>>> = BTreeMap::new();
        let mut explained = Vec::new();
        for (target, balance) in targets.iter_mut().zip(balances) {
            if target.start.is_some() {
                continue;
            }
            // Given before the network's first look: nothing earlier was read, so nothing earlier
            // can be distinguished.
            let height = target.issued_height.filter(|_| *balance != target.known);
            let beyond = balance.remaining_after(target.known);
            let group =
                height.map_or(&mut explained, |height| by_height.entry(height).or_default());
            group.push(Fresh { target, beyond });
        }
        store_beyond(gateway, &mut explained).await?;
        for (height, mut group) in by_height {
            let Some(block) = self.source.header(height).await? else { continue };
            let keys: Vec<_> = group.iter().map(|fresh| fresh.target.match_key.clone()).collect();
            match self.source.native_balances(&block, &keys).await {
                Ok(Some(starts)) => store_starts(gateway, &mut group, &starts).await?,
                Ok(None) => {}
                Err(ChainError::Refused { reason, .. }) => {
                    let network = self.settings.network;
                    report_unknown(gateway, (network, head.height), &group, height, &reason)
                        .await?;
                    store_beyond(gateway, &mut group).await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Finds how much of a residue that exceeds a deadline had arrived by then: the balance of the
    /// address at the last block that is dated up to the deadline. Only where the head is dated
    /// later, as after a watcher was away: otherwise all was in time.
    ///
    /// Where the node no longer keeps that state, all counts as arrived at the head. Older state
    /// that it still has would be of blocks after the deadline, so it could not change which part
    /// is late.
    async fn date_residues(
        &self,
        gateway: &Gateway,
        head: &BlockRef,
        residues: &mut [Residue],
    ) -> Result<(), FollowError> {
        let network = self.settings.network;
        let mut headers = Headers::from([(head.height, head.clone())]);
        let mut by_block: BTreeMap<u64, (BlockRef, Vec<&mut Residue>)> = BTreeMap::new();
        for residue in residues.iter_mut().filter(|r| r.target.deadline < head.mined_at) {
            let last = self.last_block_by(residue.target.deadline, &mut headers).await?;
            if let Some(last) = last {
                by_block.entry(last.height).or_insert_with(|| (last, Vec::new())).1.push(residue);
            }
        }
        for (height, (block, mut group)) in by_block {
            let keys: Vec<_> =
                group.iter().map(|residue| residue.target.match_key.clone()).collect();
            let held = match self.source.native_balances(&block, &keys).await {
                Ok(held) => held.unwrap_or_default(),
                Err(ChainError::Refused { reason, .. }) => {
                    tracing::warn!(%network, height, "what arrived by then is told no more: {reason}");
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let ids: Vec<_> = group.iter().map(|residue| residue.target.id).collect();
            let mut connection = gateway.db.connection().await?;
            let known =
                addresses::known_native(&mut connection, network.name(), &ids, Some(height))
                    .await?;
            drop(connection);
            for (residue, held) in group.iter_mut().zip(held) {
                let known = known.get(&residue.target.id).copied().unwrap_or(BaseUnits::ZERO);
                let units = residue.target.unexplained(held, known).min(residue.units);
                residue.in_time =
                    Some((block.clone(), units)).filter(|(_, units)| !units.is_zero());
            }
        }
        Ok(())
    }

    /// The newest block that is dated up to `deadline`, which is before the newest of `headers`;
    /// `None` where the node keeps none as old. Steps double until one is old enough, then halve:
    /// twice the logarithm of the distance, in calls, of which deadlines close to each other share
    /// most.
    async fn last_block_by(
        &self,
        deadline: DateTime<Utc>,
        headers: &mut Headers,
    ) -> Result<Option<BlockRef>, FollowError> {
        let is_old = |block: &&BlockRef| block.mined_at <= deadline;
        let mut found = headers.values().rev().find(is_old).cloned();
        let newer = headers.values().find(|block| block.mined_at > deadline);
        let Some(mut above) = newer.map(|block| block.height) else { return Ok(None) };
        let mut back = 1;
        while found.is_none() {
            let Some(older) = self.header_from(above.saturating_sub(back)).await? else {
                return Ok(None);
            };
            headers.insert(older.height, older.clone());
            if older.mined_at <= deadline {
                found = Some(older);
            } else if older.height == 0 {
                return Ok(None);
            } else {
                (above, back) = (older.height, back.saturating_mul(2));
            }
        }
        let Some(mut found) = found else { return Ok(None) };
        // Heights up to this one are `found`'s, or have no block.
        let mut below = found.height;
        while above - below > 1 {
            let middle = below + (above - below) / 2;
            let Some(block) = self.header_from(middle).await? else { return Ok(None) };
            headers.insert(block.height, block.clone());
            if block.mined_at > deadline {
                above = block.height;
            } else {
                (found, below) = (block, middle);
            }
        }
        Ok(Some(found))
    }

    /// Records the residues at the head that the cursor stands on; a deposit that was found by
    /// balance before and is in no balance now is reversed.
    async fn record_residues(
        &self,
        gateway: &Gateway,
        cursor: &Cursor,
        head: &BlockRef,
        residues: &[Residue],
    ) -> Result<u32, FollowError> {
        let network = self.settings.network;
        if residues.is_empty() {
            let mut connection = gateway.db.connection().await?;
            if !by_balance::any_lost(&mut connection, network, cursor.height).await? {
                return Ok(0);
            }
        }
        let at = (cursor.height, cursor.hash.as_str());
        // The node may have moved to another branch while it answered with the balances.
        let here = self.source.header(cursor.height).await?;
        if head.hash != cursor.hash || here.is_none_or(|here| here.hash != cursor.hash) {
            return Ok(0);
        }
        let mut tx = gateway.db.begin().await?;
        // Sets the cursor to where it stands: only its holder may write.
        if !cursors::advance(&mut tx, network, at, at).await? {
            return Err(FollowError::CursorMoved);
        }
        let mut recorded = 0;
        let ids: Vec<_> = residues.iter().map(|residue| residue.target.id).collect();
        let known = addresses::known_native(&mut tx, network.name(), &ids, None).await?;
        let gone = by_balance::gone(&mut tx, network, &ids).await?;
        for residue in residues {
            let id = &residue.target.id;
            // More is known by now: an operator may have imported a deposit since the balances were
            // read. The address is compared again at the next head. From here on no import can come
            // in between.
            if known.get(id).copied().unwrap_or(BaseUnits::ZERO) != residue.target.known {
                continue;
            }
            let gone = gone.get(id).map_or(&[][..], Vec::as_slice);
            recorded += self.record_residue(&mut tx, residue, gone, head).await?;
        }
        let finalized = self.finalize(gateway, &mut tx, cursor.height).await?;
        self.reverse_lost(gateway, &mut tx, cursor.height, FoundBy::Balance).await?;
        tx.commit().await.map_err(StorageError::from)?;
        if finalized > 0 {
            gateway.relay_wake.notify_one();
        }
        Ok(recorded)
    }

    /// Takes first the deposits that were counted before and lost their block: the same value under
    /// its own key, so it is never credited twice. The rest is new, and is divided and dated by the
    /// deadline where one falls within it.
    async fn record_residue(
        &self,
        tx: &mut PgConnection,
        residue: &Residue,
        gone: &[Gone],
        head: &BlockRef,
    ) -> Result<u32, FollowError> {
        let network = self.settings.network;
        let to = &residue.target.match_key;
        let mut left = residue.units;
        let mut returned = Vec::new();
        for gone in gone {
            // Whichever fits: coins have no names.
            if let Some(rest) = left.checked_sub(gone.amount) {
                left = rest;
                let (key, hash) = (gone.deposit_key.clone(), gone.tx_hash.clone());
                returned.push(native(key, hash, to, gone.amount));
            }
        }
        let mut recorded =
            self.record_transfers(tx, (&returned, FoundBy::Balance), Some(head)).await?;
        let early = residue.in_time.as_ref().map(|(block, units)| (block, (*units).min(left)));
        let late = left.remaining_after(early.map_or(BaseUnits::ZERO, |(_, units)| units));
        for (block, units) in early.into_iter().chain([(head, late)]) {
            if units.is_zero() {
                continue;
            }
            let read = cursors::remembered_hash(tx, network, block.height).await?;
            if read.is_some_and(|read| read != block.hash) {
                // Told by another branch. It is compared again at the next head.
                continue;
            }
            let key = free_key(tx, network, to, block.height).await?;
            let transfer = native(key, block.hash.clone(), to, units);
            let transfers = (&[transfer][..], FoundBy::Balance);
            recorded += self.record_transfers(tx, transfers, Some(block)).await?;
        }
        Ok(recorded)
    }
}

/// Headers that were read, by height.
type Headers = BTreeMap<u64, BlockRef>;

/// An address whose first balance has not been noted yet.
struct Fresh<'a> {
    target: &'a mut BalanceTarget,
    /// The present balance beyond the deposits known to have arrived.
    beyond: BaseUnits,
}

/// The part of an address's balance that nothing explains.
struct Residue {
    target: BalanceTarget,
    units: BaseUnits,
    /// The part that had arrived by the deadline, and the block that shows it; `None` where all of
    /// it counts as arrived at the head. However many arrivals these were, a deadline makes no more
    /// than two of them.
    in_time: Option<(BlockRef, BaseUnits)>,
}

impl Residue {
    fn of(
        network: Network,
        target: &BalanceTarget,
        balance: BaseUnits,
        head: &BlockRef,
    ) -> Option<Self> {
        let units = target.unexplained(balance, target.known);
        if units.is_zero() {
            return None;
        }
        tracing::info!(%network, height = head.height, "value arrived by an internal transfer");
        Some(Self { target: target.clone(), units, in_time: None })
    }
}

impl BalanceTarget {
    /// Zero while the first balance of the address is unknown.
    fn unexplained(&self, balance: BaseUnits, known: BaseUnits) -> BaseUnits {
        let start = self.start.unwrap_or(balance);
        balance.remaining_after(start).remaining_after(known)
    }
}

/// Only the balance is known, so the block stands in for the transaction. Another value that was
/// found at the same height, on a branch that is no more, may be booked under that name already.
async fn free_key(
    tx: &mut PgConnection,
    network: Network,
    address: &str,
    height: u64,
) -> Result<String, StorageError> {
    let plain = format!("{address}@{height}");
    let mut key = plain.clone();
    let mut number = 1;
    while by_balance::is_taken(tx, network, &key).await? {
        number += 1;
        key = format!("{plain}.{number}");
    }
    Ok(key)
}

pub(super) fn native(key: String, tx_hash: String, to: &str, units: BaseUnits) -> Transfer {
    let (asset, amount) = (TransferAsset::Native, TransferAmount::Units(units));
    let to = to.to_owned();
    Transfer { key, tx_hash, to, from: None, asset, amount, maturity: 1, spends: Arc::default() }
}

fn match_keys(targets: &[BalanceTarget]) -> Vec<String> {
    targets.iter().map(|target| target.match_key.clone()).collect()
}

async fn store_starts(
    gateway: &Gateway,
    group: &mut [Fresh<'_>],
    starts: &[BaseUnits],
) -> Result<(), FollowError> {
    let ids: Vec<_> = group.iter().map(|fresh| fresh.target.id).collect();
    let mut connection = gateway.db.connection().await?;
    addresses::set_starting_balances(&mut connection, &ids, starts).await?;
    for (fresh, start) in group.iter_mut().zip(starts) {
        fresh.target.start = Some(*start);
    }
    Ok(())
}

/// Notes the value that nothing explains now as there before.
async fn store_beyond(gateway: &Gateway, group: &mut [Fresh<'_>]) -> Result<(), FollowError> {
    if group.is_empty() {
        return Ok(());
    }
    let starts: Vec<_> = group.iter().map(|fresh| fresh.beyond).collect();
    store_starts(gateway, group, &starts).await
}

async fn report_unknown(
    gateway: &Gateway,
    (network, head): (Network, u64),
    group: &[Fresh<'_>],
    height: u64,
    reason: &str,
) -> Result<(), FollowError> {
    let mut connection = gateway.db.connection().await?;
    for Fresh { target, beyond } in group {
        let (address, units) = (&target.match_key, beyond.get());
        let detail = format!(
            "{address} on {network} holds {units} base units at {head} that nothing explains, and the node no longer tells \
             how many of them it held when it was given, at {height}: {reason}"
        );
        let subject = target.id.to_string();
        if alerts::raise(&mut connection, addresses::START_UNKNOWN, &subject, &detail).await? {
            tracing::error!(address, height, "a starting balance is unknown");
        }
    }
    Ok(())
}
