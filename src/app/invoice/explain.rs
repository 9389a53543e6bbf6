//! The reasons for an invoice's state: everything known of it, in one answer for an operator.

use crate::app::Gateway;
use crate::storage::{
    StorageError,
    deliveries::{self, AttemptRow, DeliveryRow},
    deposits::{
        self, DepositRow,
        left_out::{self, LeftOut},
    },
    invoices::{self, Invoice},
    ledger::{self, EntryRow},
};

#[derive(Debug)]
pub struct Explanation {
    pub invoice: Invoice,
    pub deposits: Vec<DepositRow>,
    /// Transfers to its address that are no deposits, since too many of them came.
    pub left_out: Vec<LeftOut>,
    pub entries: Vec<EntryRow>,
    /// Each with its attempts in order.
    pub deliveries: Vec<(DeliveryRow, Vec<AttemptRow>)>,
}

impl Gateway {
    pub async fn explain_invoice(
        &self,
        payment_id: &str,
    ) -> Result<Option<Explanation>, StorageError> {
        let mut connection = self.db.connection().await?;
        let Some(invoice) = invoices::by_payment_id(&mut connection, payment_id).await? else {
            return Ok(None);
        };
        let deposits = deposits::of_invoice(&mut connection, invoice.id).await?;
        let left_out = left_out::of_invoice(&mut connection, invoice.id).await?;
        let entries = ledger::of_invoice(&mut connection, invoice.id).await?;
        let mut told = Vec::new();
        for row in deliveries::of_invoice(&mut connection, invoice.id).await? {
            let attempts = deliveries::attempts(&mut connection, row.id).await?;
            told.push((row, attempts));
        }
        Ok(Some(Explanation { invoice, deposits, left_out, entries, deliveries: told }))
    }

    /// A delivery and every attempt made of it.
    pub async fn delivery(
        &self,
        event_id: &str,
    ) -> Result<Option<(DeliveryRow, Vec<AttemptRow>)>, StorageError> {
        let mut connection = self.db.connection().await?;
        let Some(row) = deliveries::by_event_id(&mut connection, event_id).await? else {
            return Ok(None);
        };
        let attempts = deliveries::attempts(&mut connection, row.id).await?;
        Ok(Some((row, attempts)))
    }
}
