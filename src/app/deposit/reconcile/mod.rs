//! Reconciliation of the chain with the rows: a bounded walk through the addresses given out, at
//! the height that the watcher has read. It moves nothing: differences are stored for operators.
//!
//! Some nodes serve balances at a block: EVM, NEAR, THORChain. Others serve the present balances
//! with a bound: the latest block that they can include. There a payment may be on chain and not
//! yet in the rows, so a difference counts only if it persists after the watcher has read beyond
//! that bound and has found nothing new: any payment in transit has been read by then.

mod expected;
mod gas_wallet;

use std::{collections::HashSet, time::Duration};

use self::expected::Expected;
use super::follow_chain::source_of;
use crate::app::Gateway;
use crate::{
    asset::{
        Family, Network, address,
        catalogue::{Catalogue, Currency},
    },
    chain::{
        ChainError, ChainSource, TransferAsset, UnusableSource, coin_slack, walks_for_balances,
    },
    config::ChainSourceKind,
    money::BaseUnits,
    storage::{
        StorageError, addresses, alerts, audit,
        balances::{self, Difference, DueAddress, Observed, Part},
        cursors,
    },
};

#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    #[error("{0} is not followed: its source is off, or no chain-watcher has read it yet")]
    NotFollowed(Network),
    #[error("the node of {0} does not report balances, so there is nothing to compare")]
    CannotTell(Network),
    #[error("the node is not where the watcher of {0} is; try again in a moment")]
    Elsewhere(Network),
    #[error("{address} was not assigned on {network}")]
    UnknownAddress { network: Network, address: String },
    #[error(
        "{address} belongs to a payout order, and these are compared on real EVM networks only"
    )]
    OrdersApart { address: String },
    #[error("the payments from {0} are not final yet; try again in a moment")]
    Moving(String),
    #[error(
        "the starting balance of {0} is recorded as less, and what was credited because of that stays"
    )]
    LessIsNoted(String),
    #[error("{0} has no unexplained difference")]
    NothingDiffers(String),
    #[error(transparent)]
    Unusable(#[from] UnusableSource),
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Result for one asset at one address.
#[derive(Debug, Clone)]
pub struct Compared {
    pub address: String,
    pub token_id: String,
    pub expected: BaseUnits,
    pub found: BaseUnits,
}

/// Result of one step of the walk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reconciled {
    pub addresses: usize,
    pub differ: usize,
}

impl Gateway {
    /// Interval between calls of [`reconcile`](Self::reconcile); `None` if there is nothing to
    /// compare.
    pub fn reconciled_every(&self, network: Network) -> Option<Duration> {
        let minutes = self.minutes_between(network)?;
        Some(Duration::from_secs(60 * u64::from(minutes)))
    }

    /// Followed networks whose balances are not compared, with the reason.
    pub fn not_asked(&self) -> Vec<(Network, &'static str)> {
        let reason = |network| Some((network, self.why_not_asked(network)?));
        Network::ALL.into_iter().filter_map(reason).collect()
    }

    fn why_not_asked(&self, network: Network) -> Option<&'static str> {
        let (settings, chain) = (&self.config.reconciliation, self.config.chain(network));
        match (chain.source, network) {
            (ChainSourceKind::Off, _) => None,
            _ if settings.addresses_per_minute == 0 => {
                Some("reconciliation.addresses_per_minute is 0")
            }
            (ChainSourceKind::Simulated, _) => None,
            (ChainSourceKind::Node, Network::Dogecoin) => {
                Some("Dogecoin Core has no scantxoutset; compare the balance with another wallet")
            }
            (ChainSourceKind::Node, Network::Near) if chain.state_url.is_none() => {
                Some("chains.near.state_url names no node")
            }
            (ChainSourceKind::Node, _) => self
                .minutes_between(network)
                .is_none()
                .then_some("reconciliation.scan_minutes is 0"),
        }
    }

    fn minutes_between(&self, network: Network) -> Option<u32> {
        let settings = &self.config.reconciliation;
        let source = self.config.chain(network).source;
        let walks = source == ChainSourceKind::Node && walks_for_balances(network);
        let minutes = if walks { settings.scan_minutes } else { 1 };
        let compares = source != ChainSourceKind::Off && settings.addresses_per_minute > 0;
        (compares && minutes > 0).then_some(minutes)
    }

    /// Compares the next addresses of `network`, as many as the limit allows since the last call:
    /// first those that differed before, then those of open invoices, then all in turn. `None`
    /// where there is nothing to compare with.
    pub async fn reconcile(&self, network: Network) -> Result<Option<Reconciled>, ReconcileError> {
        let Some(minutes) = self.minutes_between(network) else { return Ok(None) };
        let limit = i64::from(minutes) * i64::from(self.config.reconciliation.addresses_per_minute);
        let mut connection = self.db.connection().await?;
        let third = limit.div_euclid(3).max(1);
        let doubtful = balances::doubtful(&mut connection, network, third).await?;
        let open = balances::next(&mut connection, network, Part::Open, false, third).await?;
        let taken = i64::try_from(doubtful.len() + open.len()).unwrap_or(limit);
        let rest = limit.saturating_sub(taken).max(1);
        let orders = self.orders_are_compared(network);
        let all = balances::next(&mut connection, network, Part::All, orders, rest).await?;
        drop(connection);
        let walks = [(Part::Open, after(&open, third)), (Part::All, after(&all, rest))];
        let mut seen = HashSet::new();
        let due = doubtful.into_iter().chain(open).chain(all);
        let due: Vec<_> = due.filter(|address| seen.insert(address.id)).collect();
        let compared = match self.compare(network, &due).await {
            Ok(compared) => compared,
            Err(ReconcileError::CannotTell(_) | ReconcileError::NotFollowed(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut connection = self.db.connection().await?;
        for (part, after) in walks {
            balances::set_walk(&mut connection, network, part, after).await?;
        }
        drop(connection);
        self.check_gas_wallet(network).await?;
        let differ = compared.iter().filter(|one| one.expected != one.found).count();
        Ok(Some(Reconciled { addresses: due.len(), differ }))
    }

    /// Compares one address now.
    pub async fn check_balance(
        &self,
        network: Network,
        text: &str,
    ) -> Result<Vec<Compared>, ReconcileError> {
        let address = self.given_address(network, text).await?;
        if address.of_order && !self.orders_are_compared(network) {
            return Err(ReconcileError::OrdersApart { address: text.to_owned() });
        }
        let compared = self.compare(network, &[address]).await?;
        if compared.is_empty() {
            return Err(ReconcileError::Moving(text.to_owned()));
        }
        Ok(compared)
    }

    /// Excludes bitcoin-like networks, where an order's change returns to its own address, and the
    /// simulated chain, where payments leave balances unchanged.
    fn orders_are_compared(&self, network: Network) -> bool {
        let real = self.config.chain(network).source == ChainSourceKind::Node;
        real && network.family() == Family::Evm
    }

    /// Records an operator's statement that the differences at an address are accounted for. Only
    /// later differences are new.
    pub async fn explain_balance(
        &self,
        network: Network,
        text: &str,
        (by, reason): (&str, &str),
    ) -> Result<usize, ReconcileError> {
        let address = self.given_address(network, text).await?;
        let mut tx = self.db.begin().await?;
        let explained = balances::explain(&mut tx, network, address.id).await?;
        if explained.is_empty() {
            return Err(ReconcileError::NothingDiffers(text.to_owned()));
        }
        for (token, difference) in &explained {
            let subject = format!("{network} {text}");
            let detail = format!("{difference} base units of {token}: {reason}");
            audit::note(&mut tx, ("balance", "explain"), &subject, by, &detail).await?;
        }
        tx.commit().await.map_err(StorageError::from)?;
        Ok(explained.len())
    }

    /// Records an operator's statement of the balance that an address had when it was given out,
    /// for cases in which no node can serve it any more. The watcher finds any value beyond that
    /// and beyond the known deposits at its next block, as at an open invoice's address.
    pub async fn note_starting_balance(
        &self,
        network: Network,
        text: &str,
        units: BaseUnits,
        (by, reason): (&str, &str),
    ) -> Result<(), ReconcileError> {
        let address = self.given_address(network, text).await?;
        if address.network != network.name() {
            let address = text.to_owned();
            return Err(ReconcileError::UnknownAddress { network, address });
        }
        let mut tx = self.db.begin().await?;
        if !addresses::lower_starting_balance(&mut tx, address.id, units).await? {
            return Err(ReconcileError::LessIsNoted(text.to_owned()));
        }
        alerts::withdraw(&mut tx, addresses::START_UNKNOWN, &address.id.to_string()).await?;
        let before = address.start.map_or_else(|| "nothing".to_owned(), |s| s.get().to_string());
        let detail =
            format!("{} base units at first, where {before} was noted: {reason}", units.get());
        let subject = format!("{network} {text}");
        audit::note(&mut tx, ("balance", "start"), &subject, by, &detail).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(())
    }

    pub async fn balance_differences(
        &self,
        network: Option<Network>,
        limit: i64,
    ) -> Result<Vec<Difference>, StorageError> {
        let mut connection = self.db.connection().await?;
        let mut found = balances::differences(&mut connection, network, limit).await?;
        if !self.config.reconciliation.deficits {
            found.retain(|one| !one.unexplained.starts_with('-'));
        }
        Ok(found)
    }

    async fn given_address(
        &self,
        network: Network,
        text: &str,
    ) -> Result<DueAddress, ReconcileError> {
        let key = address::match_key(network.family(), text.trim());
        let mut connection = self.db.connection().await?;
        let found = balances::address(&mut connection, network.family(), &key).await?;
        let address = text.to_owned();
        found.ok_or(ReconcileError::UnknownAddress { network, address })
    }

    async fn compare(
        &self,
        network: Network,
        due: &[DueAddress],
    ) -> Result<Vec<Compared>, ReconcileError> {
        let settings = self.config.chain(network);
        let not_followed = || ReconcileError::NotFollowed(network);
        let source = source_of(self, &settings)?.ok_or_else(not_followed)?;
        let mut connection = self.db.connection().await?;
        let cursor = cursors::load(&mut connection, network).await?.ok_or_else(not_followed)?;
        drop(connection);
        if due.is_empty() {
            return Ok(Vec::new());
        }
        let at = source.header(cursor.height).await?.filter(|header| header.hash == cursor.hash);
        let at = at.ok_or(ReconcileError::Elsewhere(network))?;
        let (currencies, assets) = assets(network);
        let keys: Vec<_> = due.iter().map(|address| address.match_key.clone()).collect();
        let held = source.holdings(&at, &keys, &assets).await?;
        let held = held.ok_or(ReconcileError::CannotTell(network))?;
        // The rows are read after the chain: rows that the watcher has written meanwhile belong to
        // the same blocks.
        let mut connection = self.db.connection().await?;
        let rows = Expected::load(&mut connection, network, due, at.height).await?;
        drop(connection);
        let mut observed = Vec::new();
        let mut compared = Vec::new();
        for (address, found) in due.iter().zip(held.by_address) {
            for (currency, found) in currencies.iter().zip(found) {
                // Without an answer of the contract or of the rows no difference is known.
                let (Some(expected), Some(found)) = (rows.of(currency, address), found) else {
                    continue;
                };
                let found = without_slack(currency, expected, found);
                let (address_id, text) = (address.id, address.match_key.clone());
                let token_id = currency.token_id();
                observed.push(Observed { address_id, token_id: token_id.clone(), expected, found });
                compared.push(Compared { address: text, token_id, expected, found });
            }
        }
        let mut tx = self.db.begin().await?;
        let up_to = held.up_to.max(at.height);
        balances::observe(&mut tx, network, (at.height, up_to), &observed).await?;
        tx.commit().await.map_err(StorageError::from)?;
        Ok(compared)
    }
}

/// The found balance, or the expected one if the two differ by no more than the network's
/// tolerance.
fn without_slack(currency: &Currency, expected: BaseUnits, found: BaseUnits) -> BaseUnits {
    let apart = expected.remaining_after(found).max(found.remaining_after(expected));
    if currency.is_native() && apart <= coin_slack(currency.network) { expected } else { found }
}

/// Every currency of the catalogue on `network`, with its asset in transfers.
fn assets(network: Network) -> (Vec<&'static Currency>, Vec<TransferAsset>) {
    let of_network = Catalogue::get().all().iter().filter(|c| c.network == network);
    let asset = |currency: &'static Currency| match currency.contract {
        None => TransferAsset::Native,
        Some(contract) => TransferAsset::Contract(address::match_key(network.family(), contract)),
    };
    of_network.map(|currency| (currency, asset(currency))).unzip()
}

/// Position at which a walk continues: behind the last address of a full page, or at the beginning.
fn after(page: &[DueAddress], limit: i64) -> Option<(chrono::DateTime<chrono::Utc>, uuid::Uuid)> {
    let full = i64::try_from(page.len()).is_ok_and(|length| length >= limit);
    page.last().filter(|_| full).map(|last| (last.created_at, last.id))
}
