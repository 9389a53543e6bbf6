//! From transfers to deposit rows.

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
        PgConnection, StorageError, alerts, cursors,
        cursors::Cursor,
        deposits::{self, DepositRow, Sighting, by_balance, returned},
        invoices,
        invoices::Invoice,
        ledger, outbox, payouts,
    },
    telemetry::trace,
};

use super::{large_amount, watch_set::Watched};

impl<S: ChainSource> Follower<S> {
    /// Records a block: cursor, sightings and what became final, in one transaction.
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
        let sightings = self.record_transfers(&mut tx, &block.transfers, Some(header)).await?;
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

    /// What has its confirmations now becomes final; what was lost and did not come back is reversed.
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
        let finalized =
            deposits::finalize_up_to(tx, network, (confirmed, head), route, trace.as_deref())
                .await?;
        self.reverse_lost(tx, head, false).await?;
        Ok(finalized)
    }

    /// Reverses what was lost with a branch that was not higher than `head`, and is not back. What was found by balance comes
    /// back by balance alone, so that is asked for apart, once balances at `head` were compared.
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
        let network = self.settings.network;
        let sightings: Vec<_> = transfers
            .iter()
            .filter(|transfer| transfer.amount != TransferAmount::Units(BaseUnits::ZERO))
            .filter_map(|transfer| {
                Some(sighting(network, transfer, self.watch.find(&transfer.to)?, block))
            })
            .collect();
        self.record_sightings(tx, &sightings).await
    }

    async fn record_sightings(
        &self,
        tx: &mut PgConnection,
        sightings: &[Sighting],
    ) -> Result<u32, FollowError> {
        if sightings.is_empty() {
            return Ok(0);
        }
        // Under the invoices' locks, so that "first seen" and the deadline are in one order.
        let mut invoices: Vec<Uuid> = sightings.iter().filter_map(|s| s.invoice_id).collect();
        invoices.sort_unstable();
        invoices.dedup();
        invoices::lock_all(tx, &invoices).await?;
        let mut orders: Vec<Uuid> = sightings.iter().filter_map(|s| s.payout_order_id).collect();
        orders.sort_unstable();
        orders.dedup();
        payouts::lock_all(tx, &orders).await?;
        let mut recorded = 0;
        for sighting in sightings {
            if let Some(order) = sighting.payout_order_id
                && payouts::coins::is_own(tx, order, &sighting.tx_hash).await?
            {
                continue;
            }
            let Some(deposit) = deposits::record(tx, self.settings.network, sighting).await? else {
                alert_if_changed(tx, self.settings.network, sighting).await?;
                continue;
            };
            recorded += 1;
            if sighting.payout_order_id.is_some() {
                // A payout order is told of its deposits when they are seen, not only when they are final.
                let body = envelope::encode(&DepositRef { deposit_id: deposit.id });
                outbox::insert(tx, Route::Deposit.as_str(), &body).await?;
            }
            if deposit.was_reversed {
                // Its row is never booked again; a person may accept it as a deposit of its own.
                let (kind, hash, key) =
                    ("reversed_deposit_returned", &sighting.tx_hash, &sighting.deposit_key);
                // The hash of what no block shows is some block's; its key is what one can ask for.
                let detail = if by_balance::is_key(key) { key } else { hash };
                alerts::raise(tx, kind, &deposit.id.to_string(), detail).await?;
            }
        }
        if recorded > 0 {
            large_amount::require_confirmations(tx, &self.settings, (&invoices, &orders)).await?;
        }
        fail_point("watch.written");
        Ok(recorded)
    }
}

/// What was counted does something else now. The first is gone for good and is reversed like any other; what came instead
/// has the same key, so a person decides about it.
async fn alert_if_changed(
    tx: &mut PgConnection,
    network: Network,
    sighting: &Sighting,
) -> Result<(), StorageError> {
    // A mempool is read again and again, and says nothing about what was counted.
    if sighting.block.is_none() {
        return Ok(());
    }
    let Some(id) = deposits::contradicted_by(tx, network, sighting).await? else { return Ok(()) };
    let (hash, amount) = (&sighting.tx_hash, &sighting.amount_text);
    let detail = format!("{hash} on {network} was counted, and now moves {amount} base units");
    tracing::error!(deposit.id = %id, %network, "a counted deposit is another one now");
    alerts::raise(tx, "deposit_changed", &id.to_string(), &detail).await?;
    Ok(())
}

fn sighting(
    network: Network,
    transfer: &Transfer,
    watched: Watched,
    block: Option<&BlockRef>,
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
        deposit_key: transfer.key.clone(),
        tx_hash: transfer.tx_hash.clone(),
        address_id: watched.address_id,
        invoice_id: watched.invoice_id(),
        payout_order_id: watched.payout_order_id(),
        token_id: currency.map(Currency::token_id),
        contract: contract.map(ToOwned::to_owned),
        amount,
        amount_text,
        block: block.map(|block| (block.height, block.hash.clone(), block.mined_at)),
        min_confirmations: transfer.maturity.max(1),
    }
}

/// A credited deposit is gone from the chain. The status stays (spec, Rules 2); the books, an open invoice and a person learn of it.
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

/// While an invoice is open, what it has received is what decides it. `false` once it has ended: its sums stay.
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

/// Of what the treasury got for an overpaid invoice, as much as came with the deposit that is gone was never there.
async fn return_excess(
    tx: &mut PgConnection,
    invoice: &Invoice,
    deposit_id: Uuid,
    asset: &str,
    amount: BaseUnits,
) -> Result<(), StorageError> {
    let entries = ledger::of_invoice(tx, invoice.id).await?;
    let sum = |kind: EntryKind| {
        let of_kind = entries.iter().filter(|entry| entry.kind == kind.as_str());
        of_kind.fold(0_u128, |sum, entry| sum.saturating_add(entry.amount.get()))
    };
    let routed = sum(EntryKind::Excess).saturating_sub(sum(EntryKind::ExcessReversal));
    let amount = amount.min(BaseUnits::new(routed));
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

/// A payout order whose funding is gone signs nothing more until a person has looked. How much of it the order still counts
/// because that is given away, or signed for, already; `None` if it was never the order's.
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
