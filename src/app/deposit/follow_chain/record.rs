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
    fail_point::{fail_point, panic_point},
    invoice::lifecycle::{self, Effect, Event},
    ledger::{Account, Entry, EntryKind},
    money::BaseUnits,
    storage::{
        PgConnection, StorageError, alerts,
        cursors::{self, Cursor},
        deposits::{
            self, DepositRow, by_balance, returned,
            sightings::{self, Recorded, Sighting},
        },
        invoices::{self, Invoice},
        ledger, outbox, payouts,
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
        let found = self.sightings(&block.transfers);
        let found = self.leave_out(&mut tx, found).await?;
        let found = (block.transfers.as_slice(), found.as_slice());
        let sightings = self.record_found(&mut tx, found, Some(header)).await?;
        cursors::remember(&mut tx, network, to).await?;
        let finalized = self.finalize(&mut tx, header.height).await?;
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
            let bite =
                deposits::finalize_up_to(tx, network, upto, message, FINALIZED_AT_ONCE).await?;
            finalized += bite;
            if bite < FINALIZED_AT_ONCE.unsigned_abs() {
                break;
            }
        }
        self.reverse_lost(tx, head, false).await?;
        Ok(finalized)
    }

    /// Reverses deposits that were lost with a branch that was not higher than `head`, and are not
    /// back. A deposit found by balance comes back by balance alone, so those are asked for apart,
    /// once balances at `head` were compared.
    pub(super) async fn reverse_lost(
        &self,
        tx: &mut PgConnection,
        head: u64,
        by_balance: bool,
    ) -> Result<(), FollowError> {
        let network = self.settings.network;
        for lost in deposits::lost_for_good(tx, network, head, by_balance).await? {
            reverse(tx, network, &lost).await?;
        }
        Ok(())
    }

    /// Records those of `transfers` that concern us. In a block, or waiting if `block` is `None`.
    pub(super) async fn record_transfers(
        &self,
        tx: &mut PgConnection,
        transfers: &[Transfer],
        block: Option<&BlockRef>,
    ) -> Result<u32, FollowError> {
        self.record_found(tx, (transfers, &self.sightings(transfers)), block).await
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
    pub(super) fn sightings(&self, transfers: &[Transfer]) -> Vec<Sighting> {
        let network = self.settings.network;
        transfers
            .iter()
            .filter(|transfer| transfer.amount != TransferAmount::Units(BaseUnits::ZERO))
            .filter_map(|transfer| {
                Some(sighting(network, transfer, self.watch.find(&transfer.to)?))
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
                let detail = if by_balance::is_key(key) { key } else { hash };
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

fn sighting(network: Network, transfer: &Transfer, watched: Watched) -> Sighting {
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

/// A credited deposit is gone from the chain. The status stays (spec, Rules 2); the books, an open
/// invoice and a person learn of it.
async fn reverse(
    tx: &mut PgConnection,
    network: Network,
    lost: &DepositRow,
) -> Result<(), StorageError> {
    // Gas of our own was never credited to anybody.
    if lost.booked_as.as_deref() == Some("gas") {
        return deposits::mark_reversed(tx, lost.id, false).await;
    }
    let mut still_counted = matches!(lost.booked_as.as_deref(), Some("credit" | "late"));
    let invoice = match lost.invoice_id {
        Some(id) => invoices::lock(tx, id).await?,
        None => None,
    };
    if let (Some(invoice), Some(amount), Some(asset)) = (invoice, lost.amount, &lost.token_id) {
        let merchant = invoice.merchant_id;
        let debit = match lost.booked_as.as_deref() {
            Some("credit") => Some(Account::Merchant(merchant)),
            Some("late") => Some(Account::Late(merchant)),
            Some("foreign") => Some(Account::Foreign(merchant)),
            _ => None,
        };
        if let Some(debit) = debit {
            let entry = Entry {
                kind: EntryKind::Reversal,
                source: lost.id,
                asset: asset.clone(),
                debit,
                credit: Account::Custody(network),
                amount,
            };
            ledger::book(tx, &entry).await?;
        }
        if lost.booked_as.as_deref() == Some("credit") {
            still_counted = !take_back(tx, &invoice, amount).await?;
            return_excess(tx, &invoice, lost.id, asset, amount).await?;
        }
    }
    let counted = reverse_payout(tx, network, lost).await?;
    if let Some(counted) = counted {
        still_counted = !counted.is_zero();
    }
    deposits::mark_reversed(tx, lost.id, still_counted).await?;
    if let Some(counted) = counted.filter(|counted| !counted.is_zero()) {
        returned::note_counted(tx, lost.id, counted).await?;
    }
    let detail = format!("{} of {:?} on {network} left the chain", lost.tx_hash, lost.token_id);
    tracing::error!(deposit.id = %lost.id, %network, "a credited deposit left the chain");
    alerts::raise(tx, "deposit_reversed", &lost.id.to_string(), &detail).await?;
    Ok(())
}

/// While an invoice is open, its received amount decides its state. `false` once it has ended: its
/// sums stay.
async fn take_back(
    tx: &mut PgConnection,
    invoice: &Invoice,
    amount: BaseUnits,
) -> Result<bool, StorageError> {
    let step = lifecycle::step(&invoice.for_lifecycle(), Event::CreditReversed { amount });
    if let [Effect::TakeBack(amount)] = step.effects.as_slice() {
        let credited = invoice.credited.remaining_after(*amount);
        let received = invoice.view.actually_paid.remaining_after(*amount);
        invoices::update_standing(tx, invoice.id, step.status, credited, received).await?;
        return Ok(true);
    }
    Ok(false)
}

/// Takes back as much of the treasury's share of an overpaid invoice as came with the deposit that
/// is gone.
async fn return_excess(
    tx: &mut PgConnection,
    invoice: &Invoice,
    deposit_id: Uuid,
    asset: &str,
    amount: BaseUnits,
) -> Result<(), StorageError> {
    let amount = amount.min(ledger::excess_of(tx, invoice.id).await?);
    if amount.is_zero() {
        return Ok(());
    }
    let entry = Entry {
        kind: EntryKind::ExcessReversal,
        source: deposit_id,
        asset: asset.to_owned(),
        debit: Account::Treasury,
        credit: Account::Merchant(invoice.merchant_id),
        amount,
    };
    ledger::book(tx, &entry).await?;
    Ok(())
}

/// A payout order whose funding is gone signs nothing more until a person has looked. How much of
/// it the order still counts because that is given away, or signed for, already; `None` if it was
/// never the order's.
async fn reverse_payout(
    tx: &mut PgConnection,
    network: Network,
    lost: &DepositRow,
) -> Result<Option<BaseUnits>, StorageError> {
    let owner = deposits::owner_of(tx, lost.id).await?;
    let Some(order_id) = owner.and_then(|owner| owner.payout_order_id) else { return Ok(None) };
    payouts::safety::hold(tx, order_id, "a deposit that funded it left the chain").await?;
    let was_late = match lost.booked_as.as_deref() {
        Some("credit") => false,
        Some("late") => true,
        Some(_) | None => return Ok(None),
    };
    let (Some(amount), Some(asset)) = (lost.amount, &lost.token_id) else { return Ok(None) };
    let entry = Entry {
        kind: EntryKind::Reversal,
        source: lost.id,
        asset: asset.clone(),
        debit: Account::Payout(order_id),
        credit: Account::Custody(network),
        amount,
    };
    ledger::book(tx, &entry).await?;
    let Some(mut order) = payouts::lock(tx, order_id).await? else { return Ok(None) };
    let counted = order.books.take_back(amount, was_late);
    payouts::update_standing(tx, &order).await?;
    Ok(Some(counted))
}
