//! The one interpreter of a lifecycle [`Step`]: every operation that decides about an invoice
//! carries its decision out here.

use uuid::Uuid;

use crate::app::{Gateway, delivery::emit};
use crate::{
    deposit::BookedAs,
    invoice::{
        Status,
        lifecycle::{Effect, Ipn, Notice, Refusal, Step, Verdict},
    },
    ledger::{Account, Entry, EntryKind},
    money::BaseUnits,
    storage::{
        PgConnection, StorageError,
        deposits::DepositRow,
        invoices::{self, Invoice},
        ledger,
    },
    webhook::event::EventKind,
};

/// The part of a step that remains to be written once the invoice in memory has changed.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub verdict: Verdict,
    /// The status or the sums are not those of the row any more.
    pub is_changed: bool,
    bookings: Vec<Booking>,
    ipns: Vec<Ipn>,
    notices: Vec<Notice>,
}

#[derive(Debug, Clone, Copy)]
enum Booking {
    Credit(BaseUnits),
    Late(BaseUnits),
    Excess(BaseUnits),
}

impl Outcome {
    pub const fn refusal(&self) -> Option<Refusal> {
        match self.verdict {
            Verdict::Refused(refusal) => Some(refusal),
            Verdict::Moved | Verdict::Kept | Verdict::Held(_) => None,
        }
    }

    /// The booking of the deposit that caused the step; `None` if the step books none.
    pub fn booked_as(&self) -> Option<BookedAs> {
        self.bookings.iter().find_map(|booking| match booking {
            Booking::Credit(_) => Some(BookedAs::Credit),
            Booking::Late(_) => Some(BookedAs::Late),
            Booking::Excess(_) => None,
        })
    }

    /// The events of the step, besides notices about its deposit.
    fn events_of<'a>(&self, invoice: &'a Invoice) -> Vec<(&'a Invoice, EventKind)> {
        let kinds = self.kinds(invoice.view.status);
        kinds.into_iter().map(|kind| (invoice, kind)).collect()
    }

    /// The kinds of the events of the step, besides notices about its deposit.
    pub fn kinds(&self, status: Status) -> Vec<EventKind> {
        let silent = match self.verdict {
            Verdict::Moved => EventKind::of_silent(status),
            Verdict::Kept | Verdict::Held(_) | Verdict::Refused(_) => None,
        };
        self.ipns.iter().map(|ipn| EventKind::from(*ipn)).chain(silent).collect()
    }

    /// The IPNs of a step that no deposit caused. It is an error if the step books a deposit or
    /// reports one.
    pub fn ipns_without_deposit(&self) -> Result<&[Ipn], StorageError> {
        if self.bookings.is_empty() && self.notices.is_empty() {
            return Ok(&self.ipns);
        }
        Err(StorageError::damaged("invoice", "a step that no deposit caused books one"))
    }
}

/// Changes the invoice in memory as `step` says. The caller holds its row lock, and writes what the
/// outcome leaves.
pub(crate) fn interpret(invoice: &mut Invoice, step: &Step) -> Outcome {
    let mut outcome = Outcome {
        verdict: step.verdict,
        is_changed: false,
        bookings: Vec::new(),
        ipns: Vec::new(),
        notices: Vec::new(),
    };
    let received = &mut invoice.view.actually_paid;
    for effect in &step.effects {
        match *effect {
            Effect::Credit(amount) => {
                invoice.credited = invoice.credited.saturating_add(amount);
                *received = received.saturating_add(amount);
                outcome.bookings.push(Booking::Credit(amount));
                outcome.is_changed = true;
            }
            Effect::BookLate(amount) => {
                *received = received.saturating_add(amount);
                outcome.bookings.push(Booking::Late(amount));
                outcome.is_changed = true;
            }
            Effect::TakeBack(amount) => {
                invoice.credited = invoice.credited.remaining_after(amount);
                *received = received.remaining_after(amount);
                outcome.is_changed = true;
            }
            Effect::RouteExcess(excess) => outcome.bookings.push(Booking::Excess(excess)),
            Effect::SendIpn(ipn) => outcome.ipns.push(ipn),
            Effect::SendNotice(notice) => outcome.notices.push(notice),
        }
    }
    match step.verdict {
        Verdict::Moved => {
            invoice.view.status = step.status;
            outcome.is_changed = true;
        }
        Verdict::Kept | Verdict::Held(_) | Verdict::Refused(_) => {}
    }
    outcome
}

impl Gateway {
    /// Carries a step out: books, stores the invoice and writes its events. `deposit` is the one
    /// that caused the step. The caller holds the invoice's row lock, and commits.
    pub(crate) async fn carry_out(
        &self,
        tx: &mut PgConnection,
        invoice: &mut Invoice,
        step: &Step,
        deposit: Option<&DepositRow>,
    ) -> Result<Outcome, StorageError> {
        let outcome = interpret(invoice, step);
        if let Some(deposit) = deposit {
            for booking in &outcome.bookings {
                write_booking(tx, invoice, deposit, *booking).await?;
            }
        } else {
            outcome.ipns_without_deposit()?;
        }
        if outcome.is_changed {
            let (id, status) = (invoice.id, invoice.view.status);
            let (credited, received) = (invoice.credited, invoice.view.actually_paid);
            invoice.view.updated_at =
                invoices::update_standing(tx, id, status, credited, received).await?;
        }
        let paid = matches!(invoice.view.status, Status::Paid | Status::Overpaid);
        if outcome.verdict == Verdict::Moved && paid {
            self.cover_cycle(tx, invoice).await?;
            self.write_receipt(tx, invoice).await?;
        }
        // Events carry the invoice as it is now, so they are written last.
        let checkout = &self.config.checkout_url;
        emit::transitions(tx, &outcome.events_of(invoice), checkout).await?;
        if let Some(deposit) = deposit {
            for notice in &outcome.notices {
                emit::notice(tx, invoice, checkout, *notice, deposit).await?;
            }
        }
        Ok(outcome)
    }
}

async fn write_booking(
    tx: &mut PgConnection,
    invoice: &Invoice,
    deposit: &DepositRow,
    booking: Booking,
) -> Result<(), StorageError> {
    let merchant = invoice.merchant_id;
    match booking {
        Booking::Credit(amount) => {
            let account = Account::Merchant(merchant);
            book_deposit(tx, invoice, deposit, (EntryKind::Deposit, account), amount).await
        }
        Booking::Late(amount) => {
            let account = Account::Late(merchant);
            book_deposit(tx, invoice, deposit, (EntryKind::LateDeposit, account), amount).await
        }
        Booking::Excess(excess) => route_excess(tx, invoice, invoice.id, excess).await,
    }
}

/// Books a deposit of the invoice's own token.
pub(crate) async fn book_deposit(
    tx: &mut PgConnection,
    invoice: &Invoice,
    deposit: &DepositRow,
    (kind, credit): (EntryKind, Account),
    amount: BaseUnits,
) -> Result<(), StorageError> {
    let Some(network) = invoice.network() else {
        return Err(StorageError::damaged("invoice", "a deposit reached an unresolved draft"));
    };
    let asset = invoice.token_id.clone().unwrap_or_default();
    let debit = Account::Custody(network);
    let entry = Entry { kind, source: deposit.id, asset, debit, credit, amount };
    ledger::book(tx, &entry).await
}

/// Moves the part above the amount due from the merchant to the treasury.
pub(crate) async fn route_excess(
    tx: &mut PgConnection,
    invoice: &Invoice,
    source: Uuid,
    excess: BaseUnits,
) -> Result<(), StorageError> {
    let entry = Entry {
        kind: EntryKind::Excess,
        source,
        asset: invoice.token_id.clone().unwrap_or_default(),
        debit: Account::Merchant(invoice.merchant_id),
        credit: Account::Treasury,
        amount: excess,
    };
    ledger::book(tx, &entry).await
}
