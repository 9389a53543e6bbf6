//! Value that blocks do not show: what an address holds beyond what it started with and the deposits known there.

use std::collections::BTreeMap;

use super::{FollowError, Follower};
use crate::{
    app::Gateway,
    asset::{Network, catalogue::Catalogue},
    chain::{BlockRef, ChainError, ChainSource, Transfer, TransferAmount, TransferAsset},
    money::BaseUnits,
    storage::{
        PgConnection, StorageError,
        addresses::{self, BalanceTarget},
        alerts, cursors,
        cursors::Cursor,
    },
};

/// Addresses whose balance is compared per look; the soonest deadlines come first.
const BALANCES_MAX: i64 = 2_000;

impl<S: ChainSource> Follower<S> {
    /// Compares balances at `head`, once per head, and records what is unexplained. Returns how many were recorded.
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
            // Nobody to compare, or a chain whose blocks show everything: not before the next head is there more.
            self.balances_read_at = Some(head.hash.clone());
            return Ok(0);
        };
        self.read_starts(gateway, &mut targets, &balances).await?;
        let residues: Vec<_> = targets
            .iter()
            .zip(balances)
            .filter_map(|(target, balance)| {
                Some((target.clone(), residue(network, target, balance, head)?))
            })
            .collect();
        let recorded = self.record_residues(gateway, cursor, &residues).await?;
        self.balances_read_at = Some(head.hash.clone());
        Ok(recorded)
    }

    /// Reads what fresh addresses held when they were given. Where the node no longer keeps that state, a person is told
    /// and nothing is credited by balance: guessing would pay invoices with coins that were there before.
    async fn read_starts(
        &self,
        gateway: &Gateway,
        targets: &mut [BalanceTarget],
        balances: &[BaseUnits],
    ) -> Result<(), FollowError> {
        let mut by_height: BTreeMap<u64, Vec<&mut BalanceTarget>> = BTreeMap::new();
        for (target, balance) in targets.iter_mut().zip(balances) {
            match (target.start, target.issued_height) {
                (Some(_), _) => {}
                (None, Some(height)) => by_height.entry(height).or_default().push(target),
                // Given before the network's first look: nothing earlier was read, so nothing earlier can be told apart.
                (None, None) => {
                    let start = balance.checked_sub(target.known).unwrap_or(BaseUnits::ZERO);
                    store_starts(gateway, &mut [target], &[start]).await?;
                }
            }
        }
        for (height, mut group) in by_height {
            let Some(block) = self.source.header(height).await? else { continue };
            let keys: Vec<_> = group.iter().map(|target| target.match_key.clone()).collect();
            match self.source.native_balances(&block, &keys).await {
                Ok(Some(starts)) => store_starts(gateway, &mut group, &starts).await?,
                Ok(None) => {}
                Err(ChainError::Refused { reason, .. }) => {
                    report_unknown(gateway, &group, height, &reason).await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    async fn record_residues(
        &self,
        gateway: &Gateway,
        cursor: &Cursor,
        residues: &[(BalanceTarget, Transfer)],
    ) -> Result<u32, FollowError> {
        if residues.is_empty() {
            return Ok(0);
        }
        let at = (cursor.height, cursor.hash.as_str());
        let header = self.source.header(cursor.height).await?;
        let header = header.filter(|header| header.hash == cursor.hash);
        let Some(header) = header else { return Ok(0) };
        let mut tx = gateway.db.begin().await?;
        // Sets the cursor to where it stands: only its holder may write.
        if !cursors::advance(&mut tx, self.settings.network, at, at).await? {
            return Err(FollowError::CursorMoved);
        }
        let residues = self.still_unexplained(&mut tx, residues).await?;
        let recorded = self.record_transfers(&mut tx, &residues, Some(&header)).await?;
        let finalized = self.finalize(&mut tx, cursor.height).await?;
        tx.commit().await.map_err(StorageError::from)?;
        if finalized > 0 {
            gateway.relay_wake.notify_one();
        }
        Ok(recorded)
    }
}

impl<S: ChainSource> Follower<S> {
    /// Without those of which more is known by now: a person may have imported a deposit since the balances were read.
    /// They are compared again at the next head. The caller holds the cursor, so nobody imports from here on.
    async fn still_unexplained(
        &self,
        tx: &mut PgConnection,
        residues: &[(BalanceTarget, Transfer)],
    ) -> Result<Vec<Transfer>, StorageError> {
        let ids: Vec<_> = residues.iter().map(|(target, _)| target.id).collect();
        let network = self.settings.network.name();
        let known = addresses::known_native(tx, network, &ids).await?;
        let same = |target: &BalanceTarget| {
            known.get(&target.id).copied().unwrap_or(BaseUnits::ZERO) == target.known
        };
        let left = residues.iter().filter(|(target, _)| same(target));
        Ok(left.map(|(_, transfer)| transfer.clone()).collect())
    }
}

fn match_keys(targets: &[BalanceTarget]) -> Vec<String> {
    targets.iter().map(|target| target.match_key.clone()).collect()
}

async fn store_starts(
    gateway: &Gateway,
    targets: &mut [&mut BalanceTarget],
    starts: &[BaseUnits],
) -> Result<(), FollowError> {
    let ids: Vec<_> = targets.iter().map(|target| target.id).collect();
    let mut connection = gateway.db.connection().await?;
    addresses::set_starting_balances(&mut connection, &ids, starts).await?;
    for (target, start) in targets.iter_mut().zip(starts) {
        target.start = Some(*start);
    }
    Ok(())
}

async fn report_unknown(
    gateway: &Gateway,
    targets: &[&mut BalanceTarget],
    height: u64,
    reason: &str,
) -> Result<(), FollowError> {
    let mut connection = gateway.db.connection().await?;
    for target in targets {
        let detail = format!("the node no longer tells balances at {height}: {reason}");
        let subject = target.id.to_string();
        if alerts::raise(&mut connection, "starting_balance_unknown", &subject, &detail).await? {
            tracing::error!(address = target.match_key, height, "a starting balance is unknown");
        }
    }
    Ok(())
}

fn residue(
    network: Network,
    target: &BalanceTarget,
    balance: BaseUnits,
    head: &BlockRef,
) -> Option<Transfer> {
    let unexplained = balance.checked_sub(target.start?)?.checked_sub(target.known)?;
    if unexplained.is_zero() {
        return None;
    }
    tracing::info!(%network, height = head.height, "value arrived by an internal transfer");
    Some(Transfer {
        // Only the balance is known, so the block stands in for the transaction.
        key: format!("{}@{}", target.match_key, head.height),
        tx_hash: head.hash.clone(),
        to: target.match_key.clone(),
        asset: TransferAsset::Native,
        amount: TransferAmount::Units(unexplained),
        maturity: 1,
    })
}
