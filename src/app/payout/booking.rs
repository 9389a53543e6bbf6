//! Bookings of fees, and sums of an order's books.

use uuid::Uuid;

use crate::{
    asset::catalogue::Catalogue,
    ledger::{Account, Entry, EntryKind},
    money::BaseUnits,
    storage::{PgConnection, StorageError, ledger, payouts::PayoutOrder},
};

/// A sum of an order's books with `amount` more.
///
/// # Errors
///
/// [`StorageError::Damaged`] beyond 128 bits: no order pays out more than it received.
pub(super) fn booked_sum(total: BaseUnits, amount: BaseUnits) -> Result<BaseUnits, StorageError> {
    total
        .checked_add(amount)
        .ok_or_else(|| StorageError::damaged("payout_order", "a sum of its books overflows"))
}

/// Takes a fee out of the order's balance.
pub(super) async fn keep(
    tx: &mut PgConnection,
    order: &mut PayoutOrder,
    source: Uuid,
    fee: BaseUnits,
) -> Result<(), StorageError> {
    if fee.is_zero() {
        return Ok(());
    }
    let entry = Entry {
        kind: EntryKind::PayoutFee,
        source,
        asset: order.currency.token_id(),
        debit: Account::Payout(order.id),
        credit: Account::Treasury,
        amount: fee,
    };
    ledger::book(tx, &entry).await?;
    order.books.kept = booked_sum(order.books.kept, fee)?;
    Ok(())
}

/// Puts a fee back into the order's balance: nothing was done for it.
pub(super) async fn give_back(
    tx: &mut PgConnection,
    order: &mut PayoutOrder,
    fee: BaseUnits,
) -> Result<(), StorageError> {
    let fee = fee.min(order.books.kept);
    if fee.is_zero() {
        return Ok(());
    }
    let entry = Entry {
        kind: EntryKind::PayoutFeeReturned,
        source: Uuid::now_v7(),
        asset: order.currency.token_id(),
        debit: Account::Treasury,
        credit: Account::Payout(order.id),
        amount: fee,
    };
    ledger::book(tx, &entry).await?;
    order.books.kept = order.books.kept.remaining_after(fee);
    Ok(())
}

/// Books the network's fee for a final payment, out of `paid_from`.
pub(super) async fn book_network_fee(
    tx: &mut PgConnection,
    order: &PayoutOrder,
    source: Uuid,
    fee: BaseUnits,
    paid_from: Account,
) -> Result<(), StorageError> {
    if fee.is_zero() {
        return Ok(());
    }
    let entry = Entry {
        kind: EntryKind::NetworkFee,
        source,
        asset: Catalogue::get().native(order.currency.network).token_id(),
        debit: Account::Treasury,
        credit: paid_from,
        amount: fee,
    };
    ledger::book(tx, &entry).await
}
