//! Control of the sandbox's simulated chain: deposits, confirmations, reorgs.
//!
//! It writes the chain only. Invoices are updated by the ordinary chain-watcher.

use rand::Rng;
use serde::Serialize;

use crate::app::Gateway;
use crate::{
    asset::{
        Network, address,
        catalogue::{Catalogue, Currency},
    },
    config::ChainSourceKind,
    money::{AmountError, BaseUnits},
    storage::{
        PgConnection, StorageError, invoices,
        simulation::{self, SimTransfer},
    },
};

const BLOCKS_MAX: u32 = 1_000;

#[derive(Debug, thiserror::Error)]
pub enum SimulateError {
    #[error("{network} is not simulated in this stack; simulation exists in the sandbox only")]
    NotSimulated { network: Network },
    #[error("no invoice has the id {0}")]
    UnknownInvoice(String),
    #[error(
        "the invoice is a draft: its buyer has not picked a currency, so it has no address yet"
    )]
    Draft,
    #[error("{0} is not a currency of {1}")]
    UnknownCurrency(String, Network),
    #[error("the address is not valid on {network}: {reason}")]
    Address { network: Network, reason: String },
    #[error("the amount {0}")]
    Amount(AmountError),
    #[error("a transaction id is 1 to 128 hex digits, with or without 0x")]
    TransactionId,
    #[error("no simulated transaction has this id")]
    UnknownTransaction,
    #[error("at most {BLOCKS_MAX} blocks at a time")]
    TooManyBlocks,
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Recipient of a simulated deposit.
#[derive(Debug, Clone)]
pub enum Payee {
    Invoice(String),
    Address { network: Network, address: String },
}

/// Asset of a simulated deposit. Without either field, the invoice's own currency or the network's
/// coin.
#[derive(Debug, Clone, Default)]
pub struct PaidIn {
    /// `CODE` or `CODE@NETWORK`.
    pub currency: Option<String>,
    /// A token contract, known or unknown. An unknown one takes the decimals of `currency`, or of
    /// the invoice's own currency.
    pub contract: Option<String>,
}

#[derive(Debug, Clone)]
pub struct Deposit {
    pub payee: Payee,
    pub paid_in: PaidIn,
    /// Whole coins, e.g. `12.5`.
    pub amount: String,
    pub txid: Option<String>,
    /// True leaves it in the mempool.
    pub unconfirmed: bool,
}

/// Result of a write to the simulated chain.
#[derive(Debug, Clone, Serialize)]
pub struct Simulated {
    pub txid: String,
    pub network: &'static str,
    /// Height of its block, if any.
    pub height: Option<u64>,
    /// Height of the chain tip now.
    pub head: u64,
    /// False if this transaction was seen before.
    pub new: bool,
}

struct Resolved {
    network: Network,
    address: String,
    contract: Option<String>,
    amount: String,
}

impl Gateway {
    /// Pays an address on the simulated chain; mined and confirmed at once unless `unconfirmed`.
    pub async fn simulate_deposit(&self, deposit: &Deposit) -> Result<Simulated, SimulateError> {
        let resolved = self.resolve_deposit(deposit).await?;
        let network = resolved.network;
        let txid = match &deposit.txid {
            Some(text) => checked_txid(text)?,
            None => random_txid(network),
        };
        let mut tx = self.db.begin().await?;
        simulation::lock_chain(&mut tx, network).await?;
        let transfer = SimTransfer {
            txid: txid.clone(),
            output: 0,
            address: resolved.address,
            contract: resolved.contract,
            amount: resolved.amount,
            height: None,
        };
        let new = simulation::add_transfer(&mut tx, network, &transfer).await?;
        if new && !deposit.unconfirmed {
            self.mine_with(&mut tx, network, &txid).await?;
        }
        self.simulated(tx, network, txid, new).await
    }

    /// Mines a pending transaction and as many blocks as confirm it.
    pub async fn simulate_confirm(&self, txid: &str) -> Result<Simulated, SimulateError> {
        let (network, height) = self.find_simulated(txid).await?;
        let mut tx = self.db.begin().await?;
        simulation::lock_chain(&mut tx, network).await?;
        if height.is_none() {
            self.mine_with(&mut tx, network, txid).await?;
        }
        self.simulated(tx, network, txid.to_owned(), false).await
    }

    /// Orphans a transaction: drops it from the mempool, or replaces its branch by one that is one
    /// block longer.
    pub async fn simulate_orphan(&self, txid: &str) -> Result<Simulated, SimulateError> {
        let (network, height) = self.find_simulated(txid).await?;
        let mut tx = self.db.begin().await?;
        simulation::lock_chain(&mut tx, network).await?;
        simulation::drop_transaction(&mut tx, network, txid).await?;
        if let Some(height) = height {
            simulation::fork_from(&mut tx, network, height).await?;
            simulation::mine(&mut tx, network).await?;
        }
        self.simulated(tx, network, txid.to_owned(), false).await
    }

    /// Mines blocks; the first one includes the whole mempool.
    pub async fn simulate_mine(&self, network: Network, blocks: u32) -> Result<u64, SimulateError> {
        self.require_simulated(network)?;
        if blocks > BLOCKS_MAX {
            return Err(SimulateError::TooManyBlocks);
        }
        let mut tx = self.db.begin().await?;
        simulation::lock_chain(&mut tx, network).await?;
        for n in 0..blocks {
            let block = simulation::mine(&mut tx, network).await?;
            if n == 0 {
                simulation::include(&mut tx, network, None, block.height).await?;
            }
        }
        let head = simulation::head(&mut tx, network).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(head.map_or(0, |head| head.height))
    }

    async fn mine_with(
        &self,
        tx: &mut PgConnection,
        network: Network,
        txid: &str,
    ) -> Result<(), SimulateError> {
        let block = simulation::mine(tx, network).await?;
        simulation::include(tx, network, Some(txid), block.height).await?;
        for _ in 1..self.config.chain(network).confirmations {
            simulation::mine(tx, network).await?;
        }
        Ok(())
    }

    async fn simulated(
        &self,
        mut tx: crate::storage::Tx,
        network: Network,
        txid: String,
        new: bool,
    ) -> Result<Simulated, SimulateError> {
        let height = simulation::find(&mut tx, &txid).await?.and_then(|(_, height)| height);
        let head = simulation::head(&mut tx, network).await?.map_or(0, |head| head.height);
        tx.commit().await.map_err(StorageError::from)?;
        Ok(Simulated { txid, network: network.name(), height, head, new })
    }

    async fn find_simulated(&self, txid: &str) -> Result<(Network, Option<u64>), SimulateError> {
        let mut connection = self.db.connection().await?;
        let found = simulation::find(&mut connection, txid).await?;
        let (network, height) = found.ok_or(SimulateError::UnknownTransaction)?;
        let network = network.parse().map_err(|e| StorageError::damaged("sim_transfer", e))?;
        self.require_simulated(network)?;
        Ok((network, height))
    }

    fn require_simulated(&self, network: Network) -> Result<(), SimulateError> {
        if self.config.chain(network).source == ChainSourceKind::Simulated {
            Ok(())
        } else {
            Err(SimulateError::NotSimulated { network })
        }
    }

    async fn resolve_deposit(&self, deposit: &Deposit) -> Result<Resolved, SimulateError> {
        let (network, address_text, own) = self.payee(&deposit.payee).await?;
        self.require_simulated(network)?;
        let valid = address::validate(network, &address_text)
            .map_err(|error| SimulateError::Address { network, reason: error.to_string() })?;
        let currency = match &deposit.paid_in.currency {
            Some(text) => Some(named_on(network, text)?),
            None => own,
        };
        let native = Catalogue::get().native(network);
        let (contract, decimals) = match (&deposit.paid_in.contract, currency) {
            (Some(contract), currency) => {
                let known = Catalogue::get().by_contract(network, contract);
                let decimals = known.or(currency).map_or(0, |currency| currency.decimals);
                (Some(contract.clone()), decimals)
            }
            (None, Some(currency)) => (currency.contract.map(ToOwned::to_owned), currency.decimals),
            (None, None) => (None, native.decimals),
        };
        Ok(Resolved {
            network,
            address: address::match_key(network.family(), &valid),
            contract,
            amount: whole_units(&deposit.amount, decimals)?,
        })
    }

    async fn payee(
        &self,
        payee: &Payee,
    ) -> Result<(Network, String, Option<&'static Currency>), SimulateError> {
        match payee {
            Payee::Address { network, address } => Ok((*network, address.clone(), None)),
            Payee::Invoice(payment_id) => {
                let mut connection = self.db.connection().await?;
                let invoice = invoices::by_payment_id(&mut connection, payment_id).await?;
                let invoice =
                    invoice.ok_or_else(|| SimulateError::UnknownInvoice(payment_id.clone()))?;
                let asset = invoice.view.asset.ok_or(SimulateError::Draft)?;
                let own =
                    invoice.token_id.as_deref().and_then(|id| Catalogue::get().by_token_id(id));
                Ok((asset.network, asset.pay_address, own))
            }
        }
    }
}

/// A currency on a given network; a bare code that exists on other networks too means the one here.
fn named_on(network: Network, text: &str) -> Result<&'static Currency, SimulateError> {
    let catalogue = Catalogue::get();
    catalogue
        .resolve(text, Some(network.name()))
        .or_else(|| catalogue.named(text))
        .filter(|currency| currency.network == network)
        .ok_or_else(|| SimulateError::UnknownCurrency(text.to_owned(), network))
}

/// Base units as text. Hostile amounts beyond 128 bits are allowed; simulating them is the purpose.
fn whole_units(amount: &str, decimals: u8) -> Result<String, SimulateError> {
    match BaseUnits::parse(amount, u32::from(decimals)) {
        Ok(units) => Ok(units.get().to_string()),
        Err(AmountError::TooLarge) if amount.bytes().all(|b| b.is_ascii_digit()) => {
            Ok(format!("{amount}{}", "0".repeat(usize::from(decimals))))
        }
        Err(error) => Err(SimulateError::Amount(error)),
    }
}

fn checked_txid(text: &str) -> Result<String, SimulateError> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    let fits = (1..=128).contains(&digits.len());
    if fits && digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        Ok(text.to_owned())
    } else {
        Err(SimulateError::TransactionId)
    }
}

fn random_txid(network: Network) -> String {
    let mut bytes = [0_u8; 32];
    rand::rng().fill_bytes(&mut bytes);
    let digits = hex::encode(bytes);
    if network.evm_chain_id().is_some() { format!("0x{digits}") } else { digits }
}
