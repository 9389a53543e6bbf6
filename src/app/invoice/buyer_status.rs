//! The buyer's view of an invoice. The id is the only credential, so this is a list of allowed
//! fields and nothing else.

use chrono::{DateTime, Utc};

use super::{
    accepted_currencies::{AcceptedCurrency, accepted_currencies},
    happened::{Happened, has_unmined},
    receipt::{FixedRate, fixed_rate},
};
use crate::app::Gateway;
use crate::{
    asset::{
        Network,
        catalogue::{Catalogue, Currency},
    },
    config::{ChainSourceKind, Profile},
    deposit::{BookedAs, State},
    invoice::{
        InvoiceType, Status,
        buyer_phase::{Facts, Phase},
        deadline::is_on_time,
        payment_uri::{self, payment_uri},
        wallet_links::{ChainFacts, Coins, WalletLink, scannable_uri, wallet_links},
    },
    money::{BaseUnits, Price},
    storage::{
        self, StorageError, cursors,
        deposits::{self, DepositRow, unmined},
        invoices::{self, Invoice},
        links, x402,
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
    /// Another currency may be chosen instead of the one that was.
    pub changeable: bool,
    pub redirect_url: Option<String>,
    pub accepted_currencies: Option<Vec<AcceptedCurrency>>,
    pub phase: Phase,
    /// Payments that did not simply count.
    pub happened: Vec<Happened>,
    /// `None` for a draft, and where the price is in coins.
    pub rate: Option<FixedRate>,
    /// The link on which a payment that ended unpaid can be started once more.
    pub again_at: Option<String>,
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
    /// The part of it that came after the end.
    pub received_late: BaseUnits,
    /// Detected in time, but without the confirmations that its network requires.
    pub unconfirmed: BaseUnits,
    /// Amount still to be sent, after all detected deposits.
    pub to_send: BaseUnits,
    /// Payment URI for wallets with exactly that amount; `None` if nothing is to be sent, or the
    /// network has no convention.
    pub payment_uri: Option<String>,
    /// The same for the page's code, where scanning it cannot lead to real coins by mistake.
    pub scannable_uri: Option<String>,
    /// The coins of its chain; links to apps of wallets are for real ones alone.
    pub coins: Coins,
    /// Links to apps of common wallets, with the same amount.
    pub wallet_links: Vec<WalletLink>,
    /// The sandbox's simulated chain, on which the pay button works.
    pub simulated: bool,
    /// Of the newest pending deposit in the invoice's token; `None` without one.
    pub confirmations: Option<u64>,
    pub required_confirmations: u64,
    pub tx_hashes: Vec<String>,
    /// For each of these the page of a public explorer, where one shows the network.
    pub explorer_urls: Vec<Option<String>>,
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
        let unmined = if has_unmined(&known) {
            unmined::of_invoice(&mut connection, invoice.id).await?
        } else {
            Vec::new()
        };
        let head = match invoice.network() {
            Some(network) => cursors::load(&mut connection, network).await?.map(|c| c.height),
            None => None,
        };
        let unpaid = matches!(invoice.view.status, Status::Expired | Status::Cancelled);
        let again_at = match invoice.link_id.filter(|_| unpaid) {
            Some(link) => links::startable(&mut connection, link).await?,
            None => None,
        };
        // What the buttons would be refused for, they do not offer.
        let is_paid_by_program = self.config.x402.enabled
            && invoice.view.status == Status::Pending
            && known.is_empty()
            && x402::is_paying(&mut connection, invoice.id).await?;
        drop(connection);
        let accepted = if invoice.view.status == Status::Draft {
            accepted_currencies(self.market().await?.as_ref(), &invoice)
        } else {
            None
        };
        let happened = self.happened(&invoice, &known, &unmined);
        let status = self.describe(&invoice, &known, head, now, accepted);
        Ok(Some(BuyerStatus {
            happened,
            again_at,
            cancellable: status.cancellable && !is_paid_by_program,
            changeable: status.changeable && !is_paid_by_program,
            ..status
        }))
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
            let request = self.request_of(asset);
            let (uri, links) = (payment_uri(&request), wallet_links(&request, asset.coins));
            let scannable = scannable_uri(&request, asset.coins);
            (asset.payment_uri, asset.scannable_uri, asset.wallet_links) = (uri, scannable, links);
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
            changeable: view.status == Status::Pending
                && invoice.accepted_tokens.is_some()
                && !seen
                && now < view.deadline,
            redirect_url,
            accepted_currencies: accepted,
            phase,
            happened: Vec::new(),
            rate: fixed_rate(invoice),
            again_at: None,
        }
    }

    fn request_of<'a>(&self, asset: &'a BuyerAsset) -> payment_uri::Request<'a> {
        let chain = self.config.chain(asset.network);
        payment_uri::Request {
            currency: asset.currency,
            // An EVM test chain has its own chain id.
            chain_id: chain.chain_id.or(asset.network.evm_chain_id()),
            address: &asset.pay_address,
            amount: asset.to_send,
        }
    }

    fn coins(&self, network: Network) -> Coins {
        let chain = self.config.chain(network);
        let facts = ChainFacts {
            is_sandbox: self.config.profile == Profile::Sandbox,
            is_followed_by_node: chain.source == ChainSourceKind::Node,
            chain_id: chain.chain_id,
            genesis: chain.genesis.as_deref(),
        };
        Coins::of(network, facts)
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
        let sum = |of: &dyn Fn(&DepositRow) -> bool| {
            let amounts = own.iter().filter(|one| of(one)).filter_map(|one| one.amount);
            amounts.fold(BaseUnits::ZERO, BaseUnits::saturating_add)
        };
        let deadline = invoice.view.deadline;
        // One that comes late pays nothing, and the buyer hears of it apart.
        let unconfirmed = sum(&|one| {
            matches!(one.state, State::Seen | State::Final)
                && is_on_time(deadline, one.first_seen_at, one.mined_at)
        });
        let chain = self.config.chain(asset.network);
        let needed = own.iter().filter_map(|deposit| u64::try_from(deposit.min_confirmations).ok());
        let required_confirmations = needed.max().unwrap_or(1).max(chain.confirmations);
        let confirmations = own
            .iter()
            .map(|deposit| confirmations(deposit, head))
            .min()
            .map(|n| n.min(required_confirmations));
        let listed = || own.iter().take(HASHES_MAX);
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
            received_late: sum(&|one| {
                one.state == State::Settled && one.booked_as == Some(BookedAs::Late)
            }),
            unconfirmed,
            to_send: asset.pay_amount.remaining_after(received).remaining_after(unconfirmed),
            payment_uri: None,
            scannable_uri: None,
            coins: self.coins(asset.network),
            wallet_links: Vec::new(),
            simulated: chain.source == ChainSourceKind::Simulated,
            confirmations,
            required_confirmations,
            tx_hashes: listed().map(|deposit| deposit.tx_hash.clone()).collect(),
            explorer_urls: listed().map(|deposit| self.explorer_url(deposit)).collect(),
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
