//! The receipt of a paid invoice, for its buyer.

use chrono::{DateTime, Utc};
use rust_decimal::Decimal;

use crate::app::Gateway;
use crate::{
    asset::{Network, catalogue::Catalogue},
    deposit::{BookedAs, State},
    invoice::Status,
    money::Price,
    storage::{
        StorageError,
        deposits::{self, DepositRow},
        invoices::{self, Invoice},
    },
};

/// Transactions that a receipt lists.
const TRANSACTIONS_MAX: usize = 20;

/// All data of a receipt.
#[derive(Debug, Clone)]
pub struct Receipt {
    pub payment_id: String,
    /// The merchant's own number of the order.
    pub order_id: Option<String>,
    pub order_description: Option<String>,
    pub price_amount: Price,
    pub price_currency: String,
    pub symbol: &'static str,
    pub network: Network,
    pub pay_address: String,
    /// Amounts in whole units.
    pub due: String,
    pub received: String,
    /// `None` where the price is in coins.
    pub rate: Option<FixedRate>,
    pub created_at: DateTime<Utc>,
    pub paid_at: DateTime<Utc>,
    pub transactions: Vec<Transaction>,
}

/// The rate that an invoice was priced with.
#[derive(Debug, Clone)]
pub struct FixedRate {
    /// The price of one coin.
    pub price: Decimal,
    pub fixed_at: DateTime<Utc>,
}

/// A transaction that paid.
#[derive(Debug, Clone)]
pub struct Transaction {
    pub tx_hash: String,
    /// In whole units.
    pub amount: String,
    pub seen_at: DateTime<Utc>,
    pub explorer_url: Option<String>,
}

impl Gateway {
    /// `None` if there is no such invoice, or it is not paid.
    pub async fn receipt(&self, payment_id: &str) -> Result<Option<Receipt>, StorageError> {
        let mut connection = self.db.connection().await?;
        let found = invoices::by_payment_id(&mut connection, payment_id).await?;
        let paid =
            |invoice: &Invoice| matches!(invoice.view.status, Status::Paid | Status::Overpaid);
        let Some(invoice) = found.filter(paid) else { return Ok(None) };
        let known = deposits::of_invoice(&mut connection, invoice.id).await?;
        let finished = invoices::finished_at(&mut connection, invoice.id).await?;
        drop(connection);
        let paid_at = finished.unwrap_or(invoice.view.updated_at);
        Ok(self.receipt_of(&invoice, &known, paid_at))
    }

    fn receipt_of(
        &self,
        invoice: &Invoice,
        known: &[DepositRow],
        paid_at: DateTime<Utc>,
    ) -> Option<Receipt> {
        let view = &invoice.view;
        let asset = view.asset.as_ref()?;
        let currency = Catalogue::get().by_token_id(invoice.token_id.as_deref()?)?;
        let decimals = u32::from(asset.decimals);
        let counts = |deposit: &&DepositRow| {
            deposit.state == State::Settled && deposit.booked_as == Some(BookedAs::Credit)
        };
        let transaction = |deposit: &DepositRow| Transaction {
            tx_hash: deposit.tx_hash.clone(),
            amount: deposit.amount.unwrap_or_default().to_decimal(decimals),
            seen_at: deposit.first_seen_at,
            explorer_url: self.explorer_url(deposit),
        };
        let paying = known.iter().filter(counts).take(TRANSACTIONS_MAX);
        Some(Receipt {
            payment_id: view.payment_id.clone(),
            order_id: view.order_id.clone(),
            order_description: view.order_description.clone(),
            price_amount: view.price_amount,
            price_currency: view.price_currency.clone(),
            symbol: currency.symbol,
            network: asset.network,
            pay_address: asset.pay_address.clone(),
            due: asset.pay_amount.to_decimal(decimals),
            received: view.actually_paid.to_decimal(decimals),
            rate: fixed_rate(invoice),
            created_at: view.created_at,
            paid_at,
            transactions: paying.map(transaction).collect(),
        })
    }
}

/// The rate of an invoice that is priced in fiat.
pub(super) fn fixed_rate(invoice: &Invoice) -> Option<FixedRate> {
    let (price, fixed_at) = invoice.rate.zip(invoice.rate_at)?;
    Some(FixedRate { price: price.normalize(), fixed_at })
}
