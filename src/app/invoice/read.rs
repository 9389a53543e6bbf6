//! Reading invoices back, always inside one merchant.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::accepted_currencies::{AcceptedCurrency, accepted_currencies};
use crate::app::Gateway;
use crate::{
    invoice::payment::Payment,
    storage::{StorageError, invoices, invoices::ListOrder},
};

/// A payment object, and on an unresolved draft the currencies that may be chosen.
#[derive(Debug, Serialize, ToSchema)]
pub struct PaymentDetail {
    #[serde(flatten)]
    pub payment: Payment,
    /// Present only on an unresolved draft, also after it was abandoned: the currencies that its
    /// buyer may choose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_currencies: Option<Vec<AcceptedCurrency>>,
}

/// One page of the list.
#[derive(Debug)]
pub struct Page {
    pub payments: Vec<Payment>,
    pub total: i64,
}

impl Gateway {
    /// The invoice that `reference` names by `payment_id`, or else by `order_id`.
    pub async fn find_payment(
        &self,
        merchant_id: Uuid,
        reference: &str,
    ) -> Result<Option<PaymentDetail>, StorageError> {
        let mut connection = self.db.connection().await?;
        let invoice = invoices::of_merchant(&mut connection, merchant_id, reference).await?;
        drop(connection);
        let Some(invoice) = invoice else { return Ok(None) };
        let accepted_currencies = if invoice.is_resolved() {
            None
        } else {
            accepted_currencies(self.market().await?.as_ref(), &invoice)
        };
        let payment = Payment::render(&invoice.view, &self.config.checkout_url);
        Ok(Some(PaymentDetail { payment, accepted_currencies }))
    }

    /// The addresses to which an invoice leads its buyer, paid and not paid: those that were asked
    /// for, or the merchant's defaults of that time.
    pub async fn redirects_of_payment(
        &self,
        payment_id: &str,
    ) -> Result<(Option<String>, Option<String>), StorageError> {
        let mut connection = self.db.connection().await?;
        let invoice = invoices::by_payment_id(&mut connection, payment_id).await?;
        Ok(invoice.map(|invoice| (invoice.success_url, invoice.cancel_url)).unwrap_or_default())
    }

    pub async fn list_payments(
        &self,
        merchant_id: Uuid,
        order: ListOrder,
        limit: i64,
        offset: i64,
    ) -> Result<Page, StorageError> {
        let mut connection = self.db.connection().await?;
        let total = invoices::count(&mut connection, merchant_id).await?;
        // A page beyond the end needs no walk through everything before it.
        let rows = if offset >= total {
            Vec::new()
        } else {
            invoices::page(&mut connection, merchant_id, order, limit, offset).await?
        };
        let render =
            |invoice: &invoices::Invoice| Payment::render(&invoice.view, &self.config.checkout_url);
        Ok(Page { payments: rows.iter().map(render).collect(), total })
    }
}
