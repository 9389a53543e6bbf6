//! Reversing deposits that left the chain after they were booked.

use uuid::Uuid;

use super::{FollowError, Follower};
use crate::{
    app::{Gateway, x402},
    chain::ChainSource,
    deposit::{BookedAs, FoundBy},
    invoice::lifecycle::{self, Event},
    ledger::{Account, Entry, EntryKind},
    money::BaseUnits,
    payout::hold::Hold,
    storage::{
        PgConnection, StorageError, alerts,
        deposits::{self, DepositRow, returned},
        invoices::{self, Invoice},
        ledger, legacy_addresses, payouts,
    },
};

impl<S: ChainSource> Follower<S> {
    /// Reverses deposits that were lost with a branch that was not higher than `head`, and are not
    /// back. A deposit found by balance comes back by balance alone, so those are asked for apart,
    /// once balances at `head` were compared.
    pub(super) async fn reverse_lost(
        &self,
        gateway: &Gateway,
        tx: &mut PgConnection,
        head: u64,
        found_by: FoundBy,
    ) -> Result<(), FollowError> {
        let network = self.settings.network;
        for lost in deposits::lost_for_good(tx, network, head, found_by).await? {
            reverse(gateway, tx, &lost).await?;
        }
        Ok(())
    }
}

/// A credited deposit is gone from the chain. The status stays (spec, Rules 2); the books, an open
/// invoice and a person learn of it.
async fn reverse(
    gateway: &Gateway,
    tx: &mut PgConnection,
    lost: &DepositRow,
) -> Result<(), StorageError> {
    let unbooked = || StorageError::damaged("deposit", "it is settled and has no booking");
    let booked_as = lost.booked_as.ok_or_else(unbooked)?;
    let still_counted = match booked_as {
        // Gas of our own was never credited to anybody.
        BookedAs::Gas => return deposits::mark_reversed(tx, lost.id, false).await,
        BookedAs::Credit | BookedAs::Late => true,
        BookedAs::Foreign | BookedAs::Suspicious | BookedAs::Nothing => false,
    };
    let taken_back = reverse_of_invoice(gateway, tx, lost, booked_as).await?;
    let owner = deposits::owner_of(tx, lost.id).await?;
    let counted = match owner.as_ref().and_then(|owner| owner.payout_order_id) {
        Some(order_id) => reverse_payout(tx, lost, booked_as, order_id).await?,
        None => None,
    };
    // One of an invoice or of an order is taken back above, whatever else its address is.
    if owner.is_some_and(|owner| owner.invoice_id.is_none() && owner.payout_order_id.is_none()) {
        reverse_at_own_address(tx, lost, booked_as).await?;
    }
    x402::book::reverse(tx, lost, booked_as).await?;
    let still_counted = counted.map_or(still_counted && !taken_back, |counted| !counted.is_zero());
    deposits::mark_reversed(tx, lost.id, still_counted).await?;
    if let Some(counted) = counted.filter(|counted| !counted.is_zero()) {
        returned::note_counted(tx, lost.id, counted).await?;
    }
    let network = lost.network;
    let detail = format!("{} of {:?} on {network} left the chain", lost.tx_hash, lost.token_id);
    tracing::error!(deposit.id = %lost.id, %network, "a credited deposit left the chain");
    alerts::raise(tx, "deposit_reversed", &lost.id.to_string(), &detail).await?;
    Ok(())
}

/// Takes a deposit of an invoice out of the books. `true` if the invoice counts it no more: while
/// one is open, its received amount decides its status; once it has ended, its sums stay.
async fn reverse_of_invoice(
    gateway: &Gateway,
    tx: &mut PgConnection,
    lost: &DepositRow,
    booked_as: BookedAs,
) -> Result<bool, StorageError> {
    let invoice = match lost.invoice_id {
        Some(id) => invoices::lock(tx, id).await?,
        None => None,
    };
    let (Some(mut invoice), Some(amount), Some(asset)) = (invoice, lost.amount, &lost.token_id)
    else {
        return Ok(false);
    };
    let merchant = invoice.merchant_id;
    let debit = match booked_as {
        BookedAs::Credit => Account::Merchant(merchant),
        BookedAs::Late => Account::Late(merchant),
        BookedAs::Foreign => Account::Foreign(merchant),
        BookedAs::Suspicious | BookedAs::Nothing | BookedAs::Gas => return Ok(false),
    };
    let entry = Entry {
        kind: EntryKind::Reversal,
        source: lost.id,
        asset: asset.clone(),
        debit,
        credit: Account::Custody(lost.network),
        amount,
    };
    ledger::book(tx, &entry).await?;
    if booked_as != BookedAs::Credit {
        return Ok(false);
    }
    let step = lifecycle::step(&invoice.for_lifecycle(), Event::CreditReversed { amount });
    let outcome = gateway.carry_out(tx, &mut invoice, &step, None).await?;
    return_excess(tx, &invoice, lost.id, asset, amount).await?;
    Ok(outcome.is_changed)
}

/// Takes a deposit at a merchant's own address out of the books, one in another currency too. A
/// credited one counts as told, so that it is not told as another payment if it comes back.
async fn reverse_at_own_address(
    tx: &mut PgConnection,
    lost: &DepositRow,
    booked_as: BookedAs,
) -> Result<(), StorageError> {
    let Some(address) = legacy_addresses::of_deposit(tx, lost.id).await? else { return Ok(()) };
    let (Some(amount), Some(asset)) = (lost.amount, &lost.token_id) else { return Ok(()) };
    let debit = match booked_as {
        BookedAs::Credit => Account::Merchant(address.merchant_id),
        BookedAs::Foreign => Account::Foreign(address.merchant_id),
        BookedAs::Late | BookedAs::Suspicious | BookedAs::Nothing | BookedAs::Gas => return Ok(()),
    };
    let entry = Entry {
        kind: EntryKind::Reversal,
        source: lost.id,
        asset: asset.clone(),
        debit,
        credit: Account::Custody(lost.network),
        amount,
    };
    ledger::book(tx, &entry).await
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
    ledger::book(tx, &entry).await
}

/// A payout order whose funding is gone signs nothing more until a person has looked. How much of
/// it the order still counts because that is given away, or signed for, already; `None` if it did
/// not count it.
async fn reverse_payout(
    tx: &mut PgConnection,
    lost: &DepositRow,
    booked_as: BookedAs,
    order_id: Uuid,
) -> Result<Option<BaseUnits>, StorageError> {
    let hold = Hold::for_review("a deposit that funded it left the chain");
    payouts::safety::hold(tx, order_id, &hold).await?;
    let was_late = match booked_as {
        BookedAs::Credit => false,
        BookedAs::Late => true,
        BookedAs::Foreign | BookedAs::Suspicious | BookedAs::Nothing | BookedAs::Gas => {
            return Ok(None);
        }
    };
    let (Some(amount), Some(asset)) = (lost.amount, &lost.token_id) else { return Ok(None) };
    let entry = Entry {
        kind: EntryKind::Reversal,
        source: lost.id,
        asset: asset.clone(),
        debit: Account::Payout(order_id),
        credit: Account::Custody(lost.network),
        amount,
    };
    ledger::book(tx, &entry).await?;
    let Some(mut order) = payouts::lock(tx, order_id).await? else { return Ok(None) };
    let counted = order.books.take_back(amount, was_late);
    payouts::update_standing(tx, &order).await?;
    Ok(Some(counted))
}
