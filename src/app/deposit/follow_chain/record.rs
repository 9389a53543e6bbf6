//! From transfers to deposit rows.

use std::{borrow::Cow, collections::HashSet};

use uuid::Uuid;

use super::{FollowError, Follower};
use crate::{
    app::Gateway,
    asset::{
        Network,
        catalogue::{Catalogue, Currency},
    },
    broker::{
        envelope::{self, DepositRef},
        route::Route,
    },
    chain::{Block, BlockRef, ChainSource, Transfer, TransferAmount, TransferAsset},
    deposit::FoundBy,
    fail_point::{fail_point, panic_point},
    money::BaseUnits,
    storage::{
        PgConnection, StorageError, alerts,
        cursors::{self, Cursor},
        deposits::{
            self,
            sightings::{self, Recorded, Sighting},
        },
        invoices, outbox, payouts,
    },
    telemetry::trace,
};

use super::{large_amount, replaced, watch_set::Watched};

/// Beyond the longest address of every network. Some come out of logs, where anybody may write
/// anything.
const SENDER_BYTES_MAX: usize = 128;
/// Deposits that become final in one statement.
const FINALIZED_AT_ONCE: i64 = 5_000;

impl<S: ChainSource> Follower<S> {
    /// Records a block: the cursor, its sightings and the deposits that became final, in one
    /// transaction.
    pub(super) async fn record_block(
        &mut self,
        gateway: &Gateway,
        cursor: &mut Cursor,
        block: &Block,
    ) -> Result<(u32, u64), FollowError> {
        let network = self.settings.network;
        let header = &block.header;
        let mut tx = gateway.db.begin().await?;
        let (from, to) =
            ((cursor.height, cursor.hash.as_str()), (header.height, header.hash.as_str()));
        if !cursors::advance(&mut tx, network, from, to).await? {
            return Err(FollowError::CursorMoved);
        }
        self.watch.refresh(&mut tx).await?;
        let found = self.sightings(&block.transfers, FoundBy::Transaction);
        let found = self.leave_out(&mut tx, found).await?;
        let found = (block.transfers.as_slice(), found.as_slice());
        let sightings = self.record_found(&mut tx, found, Some(header)).await?;
        cursors::remember(&mut tx, network, to).await?;
        let finalized = self.finalize(gateway, &mut tx, header.height).await?;
        panic_point("watch.recorded", network.name());
        tx.commit().await.map_err(StorageError::from)?;
        if finalized > 0 {
            fail_point("watch.committed");
            gateway.relay_wake.notify_one();
        }
        cursor.height = header.height;
        cursor.hash.clone_from(&header.hash);
        Ok((sightings, finalized))
    }

    /// Makes deposits final that have their confirmations now; reverses those that were lost and
    /// did not come back.
    pub(super) async fn finalize(
        &self,
        gateway: &Gateway,
        tx: &mut PgConnection,
        head: u64,
    ) -> Result<u64, FollowError> {
        let network = self.settings.network;
        let Some(confirmed) = (head + 1).checked_sub(self.settings.confirmations) else {
            return Ok(0);
        };
        let route = Route::DepositFinal.as_str();
        let trace = trace::traceparent();
        let mut finalized = 0;
        loop {
            let (upto, message) = ((confirmed, head), (route, trace.as_deref()));
            let batch =
                deposits::finalize_up_to(tx, network, upto, message, FINALIZED_AT_ONCE).await?;
            finalized += batch;
            if batch < FINALIZED_AT_ONCE.unsigned_abs() {
                break;
            }
        }
        self.reverse_lost(gateway, tx, head, FoundBy::Transaction).await?;
        Ok(finalized)
    }

    /// Records those of `transfers` that concern us. In a block, or waiting if `block` is `None`.
    pub(super) async fn record_transfers(
        &self,
        tx: &mut PgConnection,
        (transfers, found_by): (&[Transfer], FoundBy),
        block: Option<&BlockRef>,
    ) -> Result<u32, FollowError> {
        self.record_found(tx, (transfers, &self.sightings(transfers, found_by)), block).await
    }

    /// Records `found`, sightings of some of `transfers`. A replacement counts as seen when the
    /// payment was that it replaces.
    pub(super) async fn record_found(
        &self,
        tx: &mut PgConnection,
        (transfers, found): (&[Transfer], &[Sighting]),
        block: Option<&BlockRef>,
    ) -> Result<u32, FollowError> {
        let recorded = self.record_sightings(tx, found, block).await?;
        replaced::inherit(tx, self.settings.network, transfers, found).await?;
        Ok(recorded)
    }

    /// Sightings of those transfers that reach a watched address.
    pub(super) fn sightings(&self, transfers: &[Transfer], found_by: FoundBy) -> Vec<Sighting> {
        let network = self.settings.network;
        transfers
            .iter()
            .filter(|transfer| transfer.amount != TransferAmount::Units(BaseUnits::ZERO))
            .filter_map(|transfer| {
                let watched = self.watch.find(&transfer.to)?;
                Some(sighting(network, (transfer, found_by), watched))
            })
            .collect()
    }

    pub(super) async fn record_sightings(
        &self,
        tx: &mut PgConnection,
        sightings: &[Sighting],
        block: Option<&BlockRef>,
    ) -> Result<u32, FollowError> {
        if sightings.is_empty() {
            return Ok(0);
        }
        let network = self.settings.network;
        // Under the invoices' locks, so that "first seen" and the deadline are in one order.
        let invoices = owners(sightings, |sighting| sighting.invoice_id);
        invoices::lock_all(tx, &invoices).await?;
        let orders = owners(sightings, |sighting| sighting.payout_order_id);
        payouts::lock_all(tx, &orders).await?;
        let found = without_own(tx, sightings, &orders).await?;
        let in_block = block.map(|block| (block.height, block.hash.as_str(), block.mined_at));
        let recorded = sightings::record(tx, network, &found, in_block).await?;
        if block.is_some() && recorded.len() < found.len() {
            // A second one with the key of another is no news either.
            let mut news: HashSet<_> =
                recorded.iter().map(|one| one.deposit_key.as_str()).collect();
            let is_rest = |sighting: &&Sighting| !news.remove(sighting.deposit_key.as_str());
            let rest: Vec<_> = found.iter().filter(is_rest).collect();
            alert_of_changed(tx, network, &rest).await?;
        }
        self.tell_of(tx, &recorded).await?;
        if !recorded.is_empty() {
            large_amount::require_confirmations(tx, &self.settings, (&invoices, &orders)).await?;
            let unowned = owners(sightings, |one| {
                let has_owner = one.invoice_id.is_some() || one.payout_order_id.is_some();
                (!has_owner).then_some(one.address_id)
            });
            large_amount::require_confirmations_at(tx, &self.settings, &unowned).await?;
        }
        fail_point("watch.written");
        Ok(u32::try_from(recorded.len()).unwrap_or(u32::MAX))
    }

    /// Writes messages for payout orders about their deposits when they are seen, not only when
    /// they are final; one message is enough for all of them. An operator is alerted to those that
    /// came back after they were taken out of the books.
    async fn tell_of(
        &self,
        tx: &mut PgConnection,
        recorded: &[Recorded],
    ) -> Result<(), StorageError> {
        let mut told = HashSet::new();
        for deposit in recorded {
            if let Some(order) = deposit.payout_order_id
                && told.insert(order)
            {
                let body = envelope::encode(&DepositRef { deposit_id: deposit.id });
                outbox::insert(tx, Route::Deposit.as_str(), &body).await?;
            }
            if deposit.was_reversed {
                // Its row is never booked again; a person may accept it as a deposit of its own.
                let (kind, hash, key) =
                    ("reversed_deposit_returned", &deposit.tx_hash, &deposit.deposit_key);
                // A deposit that no block shows has the hash of some block; an operator can look it
                // up by its key.
                let detail = if deposit.found_by_balance { key } else { hash };
                alerts::raise(tx, kind, &deposit.id.to_string(), detail).await?;
            }
        }
        Ok(())
    }
}

/// The invoices or the orders of sightings, each once and in the order in which they are locked.
fn owners(sightings: &[Sighting], owner: impl Fn(&Sighting) -> Option<Uuid>) -> Vec<Uuid> {
    let mut owners: Vec<Uuid> = sightings.iter().filter_map(owner).collect();
    owners.sort_unstable();
    owners.dedup();
    owners
}

/// Leaves out the transfers by which our own transactions return something to the order that they
/// pay for.
async fn without_own<'a>(
    tx: &mut PgConnection,
    sightings: &'a [Sighting],
    orders: &[Uuid],
) -> Result<Cow<'a, [Sighting]>, StorageError> {
    if orders.is_empty() {
        return Ok(Cow::Borrowed(sightings));
    }
    let funding = sightings.iter().filter(|sighting| sighting.payout_order_id.is_some());
    let mut hashes: Vec<_> = funding.map(|sighting| sighting.tx_hash.clone()).collect();
    hashes.sort_unstable();
    hashes.dedup();
    let own = payouts::coins::own_among(tx, orders, &hashes).await?;
    let is_own = |sighting: &&Sighting| {
        let order = sighting.payout_order_id;
        order.is_some_and(|order| own.contains(&(order, sighting.tx_hash.clone())))
    };
    Ok(Cow::Owned(sightings.iter().filter(|sighting| !is_own(sighting)).cloned().collect()))
}

/// Alerts an operator to counted transactions that move something else now. The first movement is
/// gone for good and is reversed like any other; the movement that came instead has the same key,
/// so an operator decides about it. Not to be asked of a mempool, which is read again and again,
/// and says nothing about counted transactions.
async fn alert_of_changed(
    tx: &mut PgConnection,
    network: Network,
    sightings: &[&Sighting],
) -> Result<(), StorageError> {
    for (id, place) in sightings::contradicted(tx, network, sightings).await? {
        let Some(sighting) = sightings.get(place) else { continue };
        let (hash, amount) = (&sighting.tx_hash, &sighting.amount_text);
        let detail = format!("{hash} on {network} was counted, and now moves {amount} base units");
        tracing::error!(deposit.id = %id, %network, "a counted deposit changed in a reorganisation");
        alerts::raise(tx, "deposit_changed", &id.to_string(), &detail).await?;
    }
    Ok(())
}

fn sighting(
    network: Network,
    (transfer, found_by): (&Transfer, FoundBy),
    watched: Watched,
) -> Sighting {
    let catalogue = Catalogue::get();
    let (currency, contract): (Option<&Currency>, Option<&str>) = match &transfer.asset {
        TransferAsset::Native => (Some(catalogue.native(network)), None),
        TransferAsset::Contract(contract) => {
            (catalogue.by_contract(network, contract), Some(contract))
        }
    };
    let (amount, amount_text) = match &transfer.amount {
        TransferAmount::Units(units) => (Some(*units), units.get().to_string()),
        TransferAmount::Beyond128Bits(text) => (None, text.clone()),
    };
    Sighting {
        found_by,
        deposit_key: transfer.key.clone(),
        tx_hash: transfer.tx_hash.clone(),
        address_id: watched.address_id,
        invoice_id: watched.invoice_id(),
        payout_order_id: watched.payout_order_id(),
        token_id: currency.map(Currency::token_id),
        contract: contract.map(ToOwned::to_owned),
        amount,
        amount_text,
        sender: transfer.from.clone().filter(|sender| sender.len() <= SENDER_BYTES_MAX),
        min_confirmations: transfer.maturity.max(1),
    }
}
