//! Payments whose block a reorg replaced after they had ended: deeper than the confirmations that
//! were asked for.
//!
//! The watcher's evidence that the block is gone is enough to take the end back: the same bytes are
//! looked for and sent again, so nobody is paid twice whatever a node claims. The end that they
//! have then is decided as the first one was, with the witnesses.

use uuid::Uuid;

use super::booking::booked_sum;
use crate::{
    app::Gateway,
    asset::catalogue::Catalogue,
    ledger::{Account, Entry, EntryKind},
    payout::{EventType, hold::Hold, payment::Purpose},
    storage::{
        PgConnection, StorageError, alerts, ledger,
        payouts::{
            self, PayoutOrder, gas, payments,
            reorgs::{self, Reorged},
        },
    },
};

/// The alert of an order whose payments were replaced.
const ALERT: &str = "payout_reorged";
/// Payments that one look takes back.
const BITE: i64 = 500;

impl Gateway {
    /// Takes back the ends of an order's payments whose blocks are gone. The caller holds the
    /// order's row lock. An order that has ended keeps its state; its batches and rows tell what is
    /// open again.
    pub(super) async fn take_back_reorged(
        &self,
        tx: &mut PgConnection,
        order: &mut PayoutOrder,
    ) -> Result<(), StorageError> {
        let reorged = reorgs::of_order(tx, order.id, BITE).await?;
        let Some(lowest) = reorged.iter().map(|payment| payment.height).min() else {
            return Ok(());
        };
        let open = payments::open(tx, order.id).await?;
        let mut is_refund_open = open.iter().any(|one| one.purpose == Purpose::Refund);
        let mut taken_back = Vec::new();
        for payment in &reorged {
            let is_refund = payment.purpose == Purpose::Refund;
            if !payment.succeeded {
                self.doubt_failure(tx, order, payment).await?;
            } else if !(is_refund && is_refund_open) {
                // An order has one open refund at a time: another one waits for its end.
                is_refund_open |= is_refund;
                take_back(tx, order, payment).await?;
                taken_back.push(payment.id);
            }
        }
        if taken_back.is_empty() {
            return Ok(());
        }
        payouts::update_standing(tx, order).await?;
        let told_as = Uuid::now_v7();
        for batch in reorgs::open_batches(tx, &taken_back, told_as).await? {
            let event = EventType::BatchBroadcasted;
            self.emit_of_batch(tx, order, event, (batch, told_as)).await?;
        }
        let (count, network) = (taken_back.len(), order.currency.network);
        let detail = format!(
            "a reorg on {network} replaced the blocks of {count} payments that were final: they are open again and sent again"
        );
        tracing::error!(order.id = order.order_id, count, lowest, "a reorg took back payments");
        let subject = format!("{} at {lowest}", order.order_id);
        alerts::raise(tx, ALERT, &subject, &detail).await?;
        Ok(())
    }

    /// Holds an order one of whose payments had failed in a block that is gone: its rows were
    /// called failed, their money may be on its way back, and the same bytes may succeed now.
    async fn doubt_failure(
        &self,
        tx: &mut PgConnection,
        order: &PayoutOrder,
        payment: &Reorged,
    ) -> Result<(), StorageError> {
        reorgs::keep(tx, payment.id).await?;
        if matches!(payment.purpose, Purpose::Bump | Purpose::Allowance) {
            return Ok(());
        }
        let reason = format!(
            "a reorg replaced block {}, in which {} had failed: it may be made after all. Compare the recipients' balances \
             before anybody pays them again",
            payment.height, payment.tx_hash
        );
        self.hold_payout(tx, order, ALERT, &Hold::for_review(&reason)).await
    }
}

/// Takes back one end: in the order's books, in its rows, and in the ledger by entries of its own.
async fn take_back(
    tx: &mut PgConnection,
    order: &mut PayoutOrder,
    payment: &Reorged,
) -> Result<(), StorageError> {
    let booked_as = Uuid::now_v7();
    reorgs::take_back(tx, payment.id, booked_as).await?;
    let network = order.currency.network;
    let (custody, wallet) = (Account::Custody(network), Account::GasWallet(network));
    let coin = Catalogue::get().native(network).token_id();
    let own = order.currency.token_id();
    let amount = payment.amount;
    let books = &mut order.books;
    let again = booked_sum(books.reserved, amount)?;
    let (asset, debit, credit) = match payment.purpose {
        Purpose::Gas => (coin.clone(), wallet, custody),
        Purpose::GasReturn => (coin.clone(), custody, wallet),
        Purpose::Refund => {
            books.returned = books.returned.remaining_after(amount);
            books.reserved = again;
            (own, custody, Account::Payout(order.id))
        }
        Purpose::Pay | Purpose::Bump | Purpose::Allowance => {
            books.paid = books.paid.remaining_after(amount);
            books.reserved = again;
            (own, custody, Account::Payout(order.id))
        }
    };
    if payment.purpose.moves_gas() {
        gas::set_open(tx, order.id, true).await?;
    }
    let source = booked_as;
    let reversal = Entry { kind: EntryKind::PayoutReversal, source, asset, debit, credit, amount };
    book(tx, &reversal).await?;
    let debit = if payment.purpose == Purpose::Gas { wallet } else { custody };
    let fee = Entry {
        kind: EntryKind::NetworkFeeReversal,
        source,
        asset: coin,
        debit,
        credit: Account::Treasury,
        amount: payment.fee,
    };
    book(tx, &fee).await
}

async fn book(tx: &mut PgConnection, entry: &Entry) -> Result<(), StorageError> {
    if !entry.amount.is_zero() {
        ledger::book(tx, entry).await?;
    }
    Ok(())
}
