//! The deposits of an invoice or a payout order, as its merchant sees them.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::app::Gateway;
use crate::{
    asset::{Network, catalogue::Catalogue, explorer},
    config::ChainSourceKind,
    deposit::{BookedAs, State},
    money::digits_in_coins,
    storage::{
        StorageError,
        deposits::of_payment::{self, Row},
        invoices,
    },
};

/// Value that reached the address of an invoice or of a payout order.
#[derive(Debug)]
pub struct PaymentDeposit {
    pub tx_hash: String,
    pub network: Network,
    /// `None` for a token that is not in the catalogue.
    pub currency: Option<&'static str>,
    pub contract: Option<String>,
    /// Whole coins, or base units where `in_coins` is false.
    pub amount: String,
    pub in_coins: bool,
    pub confirmations: u64,
    pub required_confirmations: u64,
    pub state: State,
    pub booked_as: Option<BookedAs>,
    pub first_seen_at: DateTime<Utc>,
    pub final_at: Option<DateTime<Utc>>,
    pub fiat_currency: Option<String>,
    pub fiat_value: Option<String>,
    /// `None` if no public explorer can know the transaction.
    pub explorer_url: Option<String>,
}

/// The first deposits, and whether there are more.
#[derive(Debug)]
pub struct DepositPage {
    pub deposits: Vec<PaymentDeposit>,
    pub has_more: bool,
}

impl Gateway {
    /// At most `limit` deposits of the invoice that `reference` names by `payment_id`, or else by
    /// `order_id`; `None` if the merchant has no such invoice.
    pub async fn payment_deposits(
        &self,
        merchant_id: Uuid,
        reference: &str,
        limit: usize,
    ) -> Result<Option<DepositPage>, StorageError> {
        let mut connection = self.db.connection().await?;
        let invoice = invoices::of_merchant(&mut connection, merchant_id, reference).await?;
        let Some(invoice) = invoice else { return Ok(None) };
        let with_next = i64::try_from(limit.saturating_add(1)).unwrap_or(i64::MAX);
        let rows = of_payment::page(&mut connection, invoice.id, with_next).await?;
        Ok(Some(self.deposit_page(rows, limit)))
    }

    /// The first `limit` of these rows as a merchant sees them.
    pub(in crate::app) fn deposit_page(&self, mut rows: Vec<Row>, limit: usize) -> DepositPage {
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        let deposits = rows.into_iter().map(|row| self.payment_deposit(row)).collect();
        DepositPage { deposits, has_more }
    }

    fn payment_deposit(&self, row: Row) -> PaymentDeposit {
        let currency = row.token_id.as_deref().and_then(|id| Catalogue::get().by_token_id(id));
        let coins = currency.and_then(|currency| {
            let decimals = u32::from(currency.decimals);
            let known = row.amount.map(|units| units.to_decimal(decimals));
            known.or_else(|| digits_in_coins(&row.amount_text, decimals))
        });
        let required = self.config.chain(row.network).confirmations;
        let linked = !row.found_by_balance && self.has_explorer(row.network);
        PaymentDeposit {
            currency: currency.map(|currency| currency.code),
            in_coins: coins.is_some(),
            amount: coins.unwrap_or(row.amount_text),
            confirmations: confirmations(row.height, row.head),
            required_confirmations: u64::try_from(row.min_confirmations).unwrap_or(0).max(required),
            explorer_url: linked.then(|| explorer::transaction_url(row.network, &row.tx_hash)),
            tx_hash: row.tx_hash,
            network: row.network,
            contract: row.contract,
            state: row.state,
            booked_as: row.booked_as,
            first_seen_at: row.first_seen_at,
            final_at: row.final_at,
            fiat_currency: row.fiat_currency,
            fiat_value: row.fiat_value,
        }
    }

    /// Returns true if public explorers show this network: neither the sandbox's simulated chain
    /// nor a test chain of one's own.
    pub fn has_explorer(&self, network: Network) -> bool {
        let chain = self.config.chain(network);
        let is_test_chain = chain.genesis.is_some()
            || chain.chain_id.is_some_and(|id| Some(id) != network.evm_chain_id());
        chain.source == ChainSourceKind::Node && !is_test_chain
    }
}

/// One at the chain tip, none in the mempool.
fn confirmations(height: Option<i64>, head: Option<i64>) -> u64 {
    let (Some(height), Some(head)) = (height, head) else { return 0 };
    u64::try_from(head.saturating_add(1).saturating_sub(height)).unwrap_or(0)
}
