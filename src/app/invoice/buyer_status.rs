//! The buyer's view of an invoice. The id is the only credential, so this is a list of allowed
//! fields and nothing else.

use chrono::{DateTime, Utc};

use super::accepted_currencies::{AcceptedCurrency, accepted_currencies};
use crate::app::Gateway;
use crate::{
    asset::{
        Network,
        catalogue::{Catalogue, Currency},
    },
    config::ChainSourceKind,
    deposit::State,
    invoice::{
        InvoiceType, Status,
        buyer_phase::{Facts, Phase},
        payment_uri::{self, payment_uri},
    },
    money::{BaseUnits, Price},
    storage::{
        self, StorageError, cursors,
        deposits::{self, DepositRow},
        invoices::{self, Invoice},
    },
};

/// Maximum number of listed transactions; a buyer rarely needs two.
const HASHES_MAX: usize = 20;

/// All data of the buyer's page, exact and not yet rendered.
#[derive(Debug)]
pub struct BuyerStatus {
    pub payment_id: String,
    pub status: Status,
    pub asset: Option<BuyerAsset>,
    pub price_amount: Price,
    pub price_currency: String,
    pub order_description: Option<String>,
    pub invoice_type: InvoiceType,
    pub created_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    pub seconds_left: i64,
    pub cancellable: bool,
    pub redirect_url: Option<String>,
    pub accepted_currencies: Option<Vec<AcceptedCurrency>>,
    pub phase: Phase,
}

#[derive(Debug)]
pub struct BuyerAsset {
    pub pay_currency: String,
    pub symbol: &'static str,
    pub currency: &'static Currency,
    pub network: Network,
    pub standard: &'static str,
    pub contract_address: Option<String>,
    pub pay_address: String,
    pub decimals: u32,
    pub due: BaseUnits,
    pub received: BaseUnits,
    /// Detected, but without the confirmations that its network requires.
    pub unconfirmed: BaseUnits,
    /// Amount still to be sent, after all detected deposits.
    pub to_send: BaseUnits,
    /// Payment URI for wallets with exactly that amount; `None` if nothing is to be sent, or the
    /// network has no convention.
    pub payment_uri: Option<String>,
    /// The sandbox's simulated chain, on which the pay button works.
    pub simulated: bool,
    /// Of the newest pending deposit in the invoice's token; `None` without one.
    pub confirmations: Option<u64>,
    pub required_confirmations: u64,
    pub tx_hashes: Vec<String>,
}

impl Gateway {
    pub async fn buyer_status(
        &self,
        payment_id: &str,
    ) -> Result<Option<BuyerStatus>, StorageError> {
        let mut connection = self.db.connection().await?;
        let Some(invoice) = invoices::by_payment_id(&mut connection, payment_id).await? else {
            return Ok(None);
        };
        let now = storage::now(&mut connection).await?;
        let known = deposits::of_invoice(&mut connection, invoice.id).await?;
        let head = match invoice.network() {
            Some(network) => cursors::load(&mut connection, network).await?.map(|c| c.height),
            None => None,
        };
        drop(connection);
        let accepted = if invoice.view.status == Status::Draft {
            accepted_currencies(self.market().await?.as_ref(), &invoice)
        } else {
            None
        };
        Ok(Some(self.describe(&invoice, &known, head, now, accepted)))
    }

    fn describe(
        &self,
        invoice: &Invoice,
        known: &[DepositRow],
        head: Option<u64>,
        now: DateTime<Utc>,
        accepted: Option<Vec<AcceptedCurrency>>,
    ) -> BuyerStatus {
        let view = &invoice.view;
        let seen = known.iter().any(|deposit| deposit.state != State::Withdrawn);
        let open = matches!(view.status, Status::Draft | Status::Pending);
        let redirect_url = match view.status {
            Status::Paid | Status::Overpaid => invoice.success_url.clone(),
            Status::Expired | Status::Cancelled => invoice.cancel_url.clone(),
            Status::Draft | Status::Pending | Status::Partial => None,
        };
        let left = (view.deadline - now).num_seconds().max(0);
        let mut asset = self.buyer_asset(invoice, known, head);
        let phase = facts(view.status, asset.as_ref(), left > 0).phase();
        if let Some(asset) = asset.as_mut().filter(|_| phase == Phase::Paying) {
            asset.payment_uri = self.uri_of(asset);
        }
        BuyerStatus {
            payment_id: view.payment_id.clone(),
            status: view.status,
            asset,
            price_amount: view.price_amount,
            price_currency: view.price_currency.clone(),
            order_description: view.order_description.clone(),
            invoice_type: view.invoice_type,
            created_at: view.created_at,
            expires_at: view.deadline,
            updated_at: view.updated_at,
            seconds_left: if view.status.is_terminal() { 0 } else { left },
            cancellable: open && !seen && now < view.deadline,
            redirect_url,
            accepted_currencies: accepted,
            phase,
        }
    }

    fn uri_of(&self, asset: &BuyerAsset) -> Option<String> {
        let chain = self.config.chain(asset.network);
        payment_uri(&payment_uri::Request {
            currency: asset.currency,
            // An EVM test chain has its own chain id.
            chain_id: chain.chain_id.or(asset.network.evm_chain_id()),
            address: &asset.pay_address,
            amount: asset.to_send,
        })
    }

    fn buyer_asset(
        &self,
        invoice: &Invoice,
        known: &[DepositRow],
        head: Option<u64>,
    ) -> Option<BuyerAsset> {
        let asset = invoice.view.asset.as_ref()?;
        let currency = Catalogue::get().by_token_id(invoice.token_id.as_deref()?)?;
        let own = |deposit: &&DepositRow| {
            deposit.token_id == invoice.token_id && deposit.network == asset.network
        };
        let counts = |deposit: &&DepositRow| {
            deposit.state != State::Withdrawn
                && !known.iter().any(|d| d.replaces == Some(deposit.id))
        };
        let own: Vec<_> = known.iter().filter(own).filter(counts).collect();
        let under_way = own.iter().filter(|d| matches!(d.state, State::Seen | State::Final));
        let unconfirmed = under_way
            .filter_map(|deposit| deposit.amount)
            .fold(BaseUnits::ZERO, BaseUnits::saturating_add);
        let chain = self.config.chain(asset.network);
        let needed = own.iter().filter_map(|deposit| u64::try_from(deposit.min_confirmations).ok());
        let required_confirmations = needed.max().unwrap_or(1).max(chain.confirmations);
        let confirmations = own
            .iter()
            .map(|deposit| confirmations(deposit, head))
            .min()
            .map(|n| n.min(required_confirmations));
        let hashes = own.iter().take(HASHES_MAX);
        let received = invoice.view.actually_paid;
        Some(BuyerAsset {
            pay_currency: asset.code.clone(),
            symbol: currency.symbol,
            currency,
            network: asset.network,
            standard: currency.standard.name(),
            contract_address: asset.contract.clone(),
            pay_address: asset.pay_address.clone(),
            decimals: u32::from(asset.decimals),
            due: asset.pay_amount,
            received,
            unconfirmed,
            to_send: asset.pay_amount.remaining_after(received).remaining_after(unconfirmed),
            payment_uri: None,
            simulated: chain.source == ChainSourceKind::Simulated,
            confirmations,
            required_confirmations,
            tx_hashes: hashes.map(|deposit| deposit.tx_hash.clone()).collect(),
        })
    }
}

fn facts(status: Status, asset: Option<&BuyerAsset>, in_time: bool) -> Facts {
    let amount = |of: fn(&BuyerAsset) -> BaseUnits| asset.map_or(BaseUnits::ZERO, of);
    Facts {
        status,
        due: amount(|asset| asset.due),
        received: amount(|asset| asset.received),
        unconfirmed: amount(|asset| asset.unconfirmed),
        in_time,
    }
}

/// Confirmations of a deposit: one at the chain tip, none in the mempool.
fn confirmations(deposit: &DepositRow, head: Option<u64>) -> u64 {
    let height = deposit.height.and_then(|height| u64::try_from(height).ok());
    match (height, head) {
        (Some(height), Some(head)) => (head + 1).saturating_sub(height),
        (None, _) | (_, None) => 0,
    }
}
