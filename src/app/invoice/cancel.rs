//! Cancelling an invoice: by the buyer on the checkout, or by the merchant through an operator.
//! Only while no deposit was detected.

use crate::app::{Gateway, operator::measure::count_transition};
use crate::{
    deposit::State,
    invoice::lifecycle::{self, Event, Refusal},
    storage::{self, StorageError, deposits, invoices, x402},
};

#[derive(Debug, thiserror::Error)]
pub enum CancelError {
    #[error("no such invoice")]
    NotFound,
    #[error("the invoice cannot be cancelled: {}", reason(*.0))]
    Refused(Refusal),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

const fn reason(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::AlreadyEnded => "it has ended already",
        Refusal::NotADraft => "it is not a draft",
        Refusal::WindowClosed => "its window has closed, so it will expire",
        Refusal::DepositSeen => "a payment has been seen",
    }
}

impl Gateway {
    pub async fn cancel_invoice(&self, payment_id: &str) -> Result<(), CancelError> {
        let mut tx = self.db.begin().await?;
        let found = invoices::by_payment_id(&mut tx, payment_id).await?;
        let id = found.ok_or(CancelError::NotFound)?.id;
        let mut invoice = invoices::lock(&mut tx, id).await?.ok_or(CancelError::NotFound)?;
        let before = invoice.view.status;
        let known = deposits::of_invoice(&mut tx, id).await?;
        let seen = known.iter().any(|deposit| deposit.state != State::Withdrawn)
            || x402::is_paying(&mut tx, id).await?;
        let now = storage::now(&mut tx).await?;
        let event = Event::CancelRequested { now, seen };
        let step = lifecycle::step(&invoice.for_lifecycle(), event);
        let outcome = self.carry_out(&mut tx, &mut invoice, &step, None).await?;
        if let Some(refusal) = outcome.refusal() {
            return Err(CancelError::Refused(refusal));
        }
        tx.commit().await.map_err(StorageError::from)?;
        count_transition(Some(before), invoice.view.status);
        Ok(())
    }
}
