//! Transactions read back: one, several, and their ids.

use uuid::Uuid;

use super::LegacyError;
use crate::{
    app::{Gateway, invoice::buyer_status::BuyerStatus},
    invoice::PaymentId,
    legacy::{
        Refusal,
        order::{self, Order},
    },
    storage::{StorageError, invoices, legacy_payments},
};

/// Ids that one request may look up.
pub const LOOKED_UP_MAX: usize = 25;
pub const LISTED_MAX: i64 = 100;
/// The last second of the year 9999: later ones do not fit the database's arithmetic.
const NEWER_MAX: i64 = 253_402_300_799;

/// A transaction as it is now.
#[derive(Debug)]
pub struct TransactionInfo {
    pub status: BuyerStatus,
    /// `None` for an invoice that `/v1` or a link created.
    pub order: Option<Order>,
}

impl Gateway {
    /// A merchant's transaction by its `txn_id`, or by the `payment_id` that `/v1` has for it.
    pub async fn legacy_transaction(
        &self,
        merchant_id: Uuid,
        id: &str,
    ) -> Result<TransactionInfo, LegacyError> {
        let (payment_id, order) = self.legacy_payment(merchant_id, id).await?;
        let status = self.buyer_status(&payment_id).await?.ok_or(Refusal::NotFound)?;
        Ok(TransactionInfo { status, order })
    }

    async fn legacy_payment(
        &self,
        merchant_id: Uuid,
        id: &str,
    ) -> Result<(String, Option<Order>), LegacyError> {
        let mut connection = self.db.connection().await?;
        if id.parse::<PaymentId>().is_ok() {
            let invoice = invoices::by_payment_id(&mut connection, id).await?;
            let invoice = invoice.filter(|invoice| invoice.merchant_id == merchant_id);
            let invoice = invoice.ok_or(Refusal::NotFound)?;
            let order = legacy_payments::of_invoice(&mut connection, invoice.id).await?;
            return Ok((invoice.view.payment_id, order));
        }
        if !order::is_txn_id(id) {
            return Err(Refusal::NotFound.into());
        }
        let found = legacy_payments::by_txn_id(&mut connection, id, Some(merchant_id)).await?;
        let (payment_id, order) = found.ok_or(Refusal::NotFound)?;
        Ok((payment_id, Some(order)))
    }

    /// The ids of a merchant's transactions, newest first.
    pub async fn legacy_transaction_ids(
        &self,
        merchant_id: Uuid,
        newer: i64,
        limit: i64,
        start: i64,
    ) -> Result<Vec<String>, StorageError> {
        let mut connection = self.db.connection().await?;
        let (newer, limit) = bounds(newer, limit);
        legacy_payments::ids(&mut connection, merchant_id, newer, limit, start.max(0)).await
    }

    /// The transaction of a status page or a QR code, for anybody who has its key.
    pub async fn legacy_transaction_of_buyer(
        &self,
        txn_id: &str,
        view_key: &str,
    ) -> Result<Option<String>, StorageError> {
        if !order::is_txn_id(txn_id) {
            return Ok(None);
        }
        let mut connection = self.db.connection().await?;
        let found = legacy_payments::by_txn_id(&mut connection, txn_id, None).await?;
        let opened = found.filter(|(_, order)| is_same(&order.view_key, view_key));
        Ok(opened.map(|(payment_id, _)| payment_id))
    }
}

/// A list's oldest second and its length, within the range of the database's arithmetic.
pub(super) fn bounds(newer: i64, limit: i64) -> (i64, i64) {
    (newer.clamp(0, NEWER_MAX), limit.clamp(1, LISTED_MAX))
}

/// Compares in constant time.
fn is_same(key: &str, given: &str) -> bool {
    use subtle::ConstantTimeEq;
    key.as_bytes().ct_eq(given.as_bytes()).into()
}
