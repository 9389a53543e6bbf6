//! Crediting: final deposits meet their invoice, once, under the invoice's row lock.

use uuid::Uuid;

use crate::app::{
    Gateway,
    invoice::carry_out::{book_deposit, route_excess},
    operator::measure::count_transition,
};
use crate::{
    asset::Fiat,
    broker::{
        envelope::{self, DepositRef},
        route::Route,
    },
    deposit::BookedAs,
    fail_point::fail_point,
    invoice::{
        Status,
        deadline::is_on_time,
        lifecycle::{self, Event, Foreign},
    },
    ledger::{Account, Entry, EntryKind},
    storage::{
        PgConnection, StorageError, Tx,
        deposits::{self, DepositRow, returned},
        invoices::{self, Invoice},
        ledger, outbox,
    },
};

/// Deposits settled in one transaction. Anybody may send an invoice any number of them, so the rest
/// waits behind the messages of all other invoices.
const BATCH: usize = 25;

#[derive(Debug, thiserror::Error)]
pub enum MatchError {
    /// The message names no deposit of ours. It can never be worked on.
    #[error("no such deposit")]
    UnknownDeposit,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The result of a settlement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settled {
    pub deposits: usize,
    pub status: Option<Status>,
}

impl Gateway {
    /// Settles the final deposits of the invoice that `deposit_id` belongs to, or one batch of
    /// them.
    ///
    /// Amounts are summed from rows, never from messages; a message that comes twice finds nothing
    /// left to settle. Of an invoice with more than a batch, a message about a booked deposit does
    /// nothing: the worker that booked it has sent another message for the rest. So one message is
    /// on its way for it in the end, however many blocks a flood fills.
    pub async fn match_deposits(&self, deposit_id: Uuid) -> Result<Settled, MatchError> {
        let mut tx = self.db.begin().await?;
        let Some(mut invoice) = invoices::lock_of_deposit(&mut tx, deposit_id).await? else {
            return self.match_without_invoice(tx, deposit_id).await;
        };
        let before = invoice.view.status;
        let deposits = self.settle_final(&mut tx, &mut invoice, Some(deposit_id)).await?;
        fail_point("match.written");
        tx.commit().await.map_err(StorageError::from)?;
        fail_point("match.committed");
        count_transition(Some(before), invoice.view.status);
        self.relay_wake.notify_one();
        Ok(Settled { deposits, status: Some(invoice.view.status) })
    }

    /// A deposit of no invoice funds a payout order, is credited at a merchant's own address, pays
    /// for a resource (x402), or came to an address that expects no payment.
    async fn match_without_invoice(
        &self,
        mut tx: Tx,
        deposit_id: Uuid,
    ) -> Result<Settled, MatchError> {
        let owner = deposits::owner_of(&mut tx, deposit_id).await?;
        let owner = owner.ok_or(MatchError::UnknownDeposit)?;
        let deposits = match owner.payout_order_id {
            Some(order_id) => self.fund_payout(&mut tx, order_id).await?,
            None => match self.settle_at_own_address(&mut tx, deposit_id).await? {
                0 => self.book_x402(&mut tx, deposit_id).await?,
                settled => settled,
            },
        };
        tx.commit().await.map_err(StorageError::from)?;
        self.relay_wake.notify_one();
        Ok(Settled { deposits, status: None })
    }

    /// Settles the final deposits, or one batch of them, and returns how many there were. The rest
    /// gets a message, behind those that wait already; `about` is the deposit that the message in
    /// hand names, if there is one. The caller holds the invoice's row lock, and commits.
    pub(crate) async fn settle_final(
        &self,
        tx: &mut PgConnection,
        invoice: &mut Invoice,
        about: Option<Uuid>,
    ) -> Result<usize, StorageError> {
        let with_next = i64::try_from(BATCH + 1).unwrap_or(i64::MAX);
        let mut waiting = deposits::lock_unsettled(tx, invoice.id, with_next).await?;
        if let Some(next) = waiting.get(BATCH).map(|deposit| deposit.id) {
            if let Some(about) = about
                && deposits::is_booked(tx, about).await?
            {
                return Ok(0);
            }
            let body = envelope::encode(&DepositRef { deposit_id: next });
            outbox::insert(tx, Route::Deposit.as_str(), &body).await?;
            waiting.truncate(BATCH);
        }
        for deposit in &waiting {
            self.settle(tx, invoice, deposit).await?;
        }
        Ok(waiting.len())
    }

    /// Settles one deposit: decides, and carries the decision out.
    async fn settle(
        &self,
        tx: &mut PgConnection,
        invoice: &mut Invoice,
        deposit: &DepositRow,
    ) -> Result<(), StorageError> {
        let (event, own) = event_of(invoice, deposit);
        if own && restore(tx, invoice, deposit).await? {
            return Ok(());
        }
        let foreign = if own { None } else { Some(book_foreign(tx, invoice, deposit).await?) };
        let step = lifecycle::step(&invoice.for_lifecycle(), event);
        let outcome = self.carry_out(tx, invoice, &step, Some(deposit)).await?;
        let booked_as = outcome.booked_as().or(foreign).unwrap_or(BookedAs::Nothing);
        deposits::settle(tx, deposit, booked_as, fiat_of(invoice)).await
    }
}

/// The event that a deposit means for its invoice, and whether it is the invoice's own token on its
/// own network.
fn event_of(invoice: &Invoice, deposit: &DepositRow) -> (Event, bool) {
    let on_network = invoice.network() == Some(deposit.network);
    let own_token = deposit.token_id == invoice.token_id;
    match (deposit.amount, &deposit.token_id) {
        (Some(amount), Some(_)) if on_network && own_token => {
            let deadline = invoice.view.deadline;
            let on_time = is_on_time(deadline, deposit.first_seen_at, deposit.mined_at);
            (Event::DepositConfirmed { amount, on_time }, true)
        }
        (Some(_), Some(_)) => (Event::ForeignDeposit(Foreign::WrongToken), false),
        (None, _) | (_, None) => (Event::ForeignDeposit(Foreign::SuspiciousToken), false),
    }
}

/// A deposit that its invoice has counted all the while, though it was away, only goes back into
/// the books, and so does the excess that it had brought. No event reported its loss, so none
/// reports its return.
async fn restore(
    tx: &mut PgConnection,
    invoice: &Invoice,
    deposit: &DepositRow,
) -> Result<bool, StorageError> {
    let (Some(replaced), Some(amount)) = (deposit.replaces, deposit.amount) else {
        return Ok(false);
    };
    let Some(booked_as) = returned::counted_before(tx, deposit.id).await? else { return Ok(false) };
    let booking = match booked_as {
        BookedAs::Credit => (EntryKind::Deposit, Account::Merchant(invoice.merchant_id)),
        BookedAs::Late => (EntryKind::LateDeposit, Account::Late(invoice.merchant_id)),
        BookedAs::Foreign | BookedAs::Suspicious | BookedAs::Nothing | BookedAs::Gas => {
            return Ok(false);
        }
    };
    book_deposit(tx, invoice, deposit, booking, amount).await?;
    if let Some(excess) = ledger::amount(tx, EntryKind::ExcessReversal, replaced).await? {
        route_excess(tx, invoice, deposit.id, excess).await?;
    }
    deposits::settle(tx, deposit, booked_as, fiat_of(invoice)).await?;
    Ok(true)
}

/// The fiat currency in which an invoice's deposits are valued: the price's own, or USD where the
/// price is in coins.
fn fiat_of(invoice: &Invoice) -> Fiat {
    invoice.view.price_currency.parse().unwrap_or(Fiat::Usd)
}

/// Known tokens that the invoice did not ask for are kept apart for the merchant; unknown contracts
/// are worth nothing to us.
async fn book_foreign(
    tx: &mut PgConnection,
    invoice: &Invoice,
    deposit: &DepositRow,
) -> Result<BookedAs, StorageError> {
    let (Some(asset), Some(amount)) = (deposit.token_id.clone(), deposit.amount) else {
        return Ok(BookedAs::Suspicious);
    };
    let entry = Entry {
        kind: EntryKind::ForeignDeposit,
        source: deposit.id,
        asset,
        debit: Account::Custody(deposit.network),
        credit: Account::Foreign(invoice.merchant_id),
        amount,
    };
    ledger::book(tx, &entry).await?;
    Ok(BookedAs::Foreign)
}
