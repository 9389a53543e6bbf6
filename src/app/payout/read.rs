//! Reading orders, their rows and their batches, for their merchant.

use uuid::Uuid;

use super::errors::PayoutError;
use crate::{
    app::Gateway,
    payout::{PayoutFamily, State, batch::ItemState, csv, order::BatchView},
    storage::payouts::{
        self, PayoutOrder, batches,
        items::{self, ItemRow},
    },
};

/// Everything that a report of an order says.
pub struct Report {
    pub order: PayoutOrder,
    pub items: Vec<ItemRow>,
}

/// The columns of a report.
const HEADING: [&str; 9] =
    ["row", "address", "amount", "netAmountRaw", "reference", "memo", "state", "txHash", "error"];

impl Report {
    /// The report as a file that spreadsheets read.
    pub fn csv(self) -> String {
        let decimals = u32::from(self.order.currency.decimals);
        let rows = self.items.into_iter().map(|item| {
            [
                item.row_number.to_string(),
                item.address,
                item.amount.to_decimal(decimals),
                item.net_amount.get().to_string(),
                item.reference.unwrap_or_default(),
                item.memo.unwrap_or_default(),
                item.state.as_str().to_owned(),
                item.tx_hash.unwrap_or_default(),
                item.error.unwrap_or_default(),
            ]
        });
        csv::write(HEADING, rows)
    }
}

/// Rows of the largest order, and more.
const REPORT_ROWS_MAX: i64 = 10_000;

impl Gateway {
    /// An order's object.
    pub async fn read_payout(
        &self,
        merchant_id: Uuid,
        order_id: &str,
    ) -> Result<String, PayoutError> {
        let order = self.payout(merchant_id, order_id).await?;
        let mut connection = self.db.connection().await?;
        Ok(self.payout_snapshot(&mut connection, &order, None).await?)
    }

    async fn payout(&self, merchant_id: Uuid, order_id: &str) -> Result<PayoutOrder, PayoutError> {
        let mut connection = self.db.connection().await?;
        let found = payouts::of_merchant(&mut connection, merchant_id, order_id).await?;
        found.ok_or(PayoutError::NotFound)
    }

    /// One page of a merchant's orders as objects, and how many there are.
    pub async fn list_payouts(
        &self,
        merchant_id: Uuid,
        family: PayoutFamily,
        state: Option<State>,
        limit: i64,
        offset: i64,
    ) -> Result<(Vec<String>, i64), PayoutError> {
        let mut connection = self.db.connection().await?;
        let (orders, total) =
            payouts::page(&mut connection, merchant_id, family, state, limit, offset).await?;
        let mut bodies = Vec::with_capacity(orders.len());
        for order in &orders {
            bodies.push(self.payout_snapshot(&mut connection, order, None).await?);
        }
        Ok((bodies, total))
    }

    /// One page of an order's rows and how many there are.
    pub async fn payout_items(
        &self,
        merchant_id: Uuid,
        order_id: &str,
        state: Option<ItemState>,
        limit: i64,
        offset: i64,
    ) -> Result<(PayoutOrder, Vec<ItemRow>, i64), PayoutError> {
        let order = self.payout(merchant_id, order_id).await?;
        let mut connection = self.db.connection().await?;
        let (rows, total) = items::page(&mut connection, order.id, state, limit, offset).await?;
        Ok((order, rows, total))
    }

    pub async fn payout_batches(
        &self,
        merchant_id: Uuid,
        order_id: &str,
    ) -> Result<Vec<BatchView>, PayoutError> {
        let order = self.payout(merchant_id, order_id).await?;
        let network = order.currency.network;
        let required = self.required_of(&order);
        let mut connection = self.db.connection().await?;
        Ok(batches::views(&mut connection, order.id, network, None, required).await?)
    }

    pub async fn payout_report(
        &self,
        merchant_id: Uuid,
        order_id: &str,
    ) -> Result<Report, PayoutError> {
        let order = self.payout(merchant_id, order_id).await?;
        let mut connection = self.db.connection().await?;
        let (items, _) = items::page(&mut connection, order.id, None, REPORT_ROWS_MAX, 0).await?;
        Ok(Report { order, items })
    }
}
