//! The gateway's use cases, one file each, in folders by subject. Each is one transaction, or
//! claim / act / record with no transaction open while it acts.
//!
//! An app function reads rows, asks the pure rules, and writes the outcome with its ledger entries
//! and its outbox rows in one commit. The API, the workers, the command line and the tests call the
//! same functions.

pub mod account;
pub mod accounting;
pub mod address;
pub(crate) mod background;
pub mod delivery;
pub mod deposit;
pub mod event;
pub mod invoice;
mod keyed_limiter;
pub mod legacy;
pub mod link;
pub mod mail;
pub mod market;
pub mod merchant;
pub mod messaging;
pub mod nc_payout;
pub mod operator;
pub mod payout;
pub mod sandbox;
mod start;
pub mod subscription;
pub mod sweep;
pub mod till;
pub mod x402;

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use secrecy::ExposeSecret;
use tokio::sync::{Notify, Semaphore};

pub use start::{StartError, refusals};

use crate::{
    asset::{
        Family, Network,
        address::{AccountKey, Realm},
    },
    broker::topology::Topology,
    config::{Config, port_of},
    egress::{
        Egress,
        guard::{Policy, PublicPolicy},
    },
    merchant::secret::KeyRing,
    storage::{Db, StorageError, Trouble},
};

/// One process's access to everything the gateway's functions need.
pub struct Gateway {
    pub db: Db,
    pub config: Config,
    pub topology: Topology,
    pub egress: Egress,
    pub(crate) master_keys: KeyRing,
    pub(crate) account_keys: HashMap<Family, AccountKey>,
    /// The account keys of payout orders' addresses; below, the gas wallet's.
    pub(crate) payout_keys: HashMap<Family, AccountKey>,
    pub(crate) gas_key: Option<AccountKey>,
    /// The account of the wallet that pays the gas of x402's settlements.
    pub(crate) x402_key: Option<AccountKey>,
    pub(crate) x402: x402::Facilitator,
    pub(crate) market: market::MarketCache,
    kept_payers: payout::payers::KeptPayers,
    admissions: merchant::admit::Admissions,
    orders: link::order::Orders,
    legacy_forms: legacy::forms::Forms,
    following: invoice::follow::Following,
    /// Uploaded pictures that are being decoded.
    pictures_room: Arc<Semaphore>,
    /// Exports that this process reads.
    exports_room: Semaphore,
    /// The replica that they are read from, if there is one.
    exports_db: Option<Db>,
    started: Instant,
    /// Set once the database has been asked whether the master key is its own.
    key_proven: AtomicBool,
    /// Wakes this process's relay after a commit that wrote the outbox. Missing it costs at most
    /// the relay's poll.
    pub relay_wake: Arc<Notify>,
}

impl Gateway {
    /// Puts the parts together. Nothing is connected yet: servers that are down are waited for, not
    /// died of.
    pub fn new(config: Config) -> Result<Self, StartError> {
        let gateway = Self::unchecked(config)?;
        match gateway.accounts().faults(&gateway.config).into_iter().next() {
            Some(fault) => Err(fault),
            None => Ok(gateway),
        }
    }

    /// As [`new`](Self::new) for a running program: where the database answers, its pools are
    /// looked at as well, and the master key must be the one that sealed its secrets. Where it does
    /// not, [`is_key_proven`](Self::is_key_proven) is false.
    pub async fn start(config: Config) -> Result<Self, StartError> {
        let gateway = Self::new(config)?;
        gateway.check_sessions_soon().await?;
        gateway.check_first_of_pools().await?;
        let proven = gateway.check_master_key_soon().await?;
        gateway.key_proven.store(proven, Ordering::Relaxed);
        Ok(gateway)
    }

    /// Refuses addresses of the database that cannot do what they are for, if it answers in time.
    /// Whatever takes a lock later asks again.
    async fn check_sessions_soon(&self) -> Result<(), StartError> {
        for check in [self.db.prove_pooler().await, self.db.prove_direct().await] {
            let Err(error) = check else { continue };
            if let Some(Trouble::DirectAddress | Trouble::Pooler) = Trouble::of(&error) {
                return Err(StartError::Pooler(error));
            }
            let error = operator::doctor::with_causes(&error);
            tracing::warn!(error, "the database's sessions could not be looked at yet");
        }
        Ok(())
    }

    /// Returns whether the start has compared the master key with the database.
    pub fn is_key_proven(&self) -> bool {
        self.key_proven.load(Ordering::Relaxed)
    }

    /// As [`new`](Self::new) for a program that only looks (`gatewayctl doctor`): it gives no
    /// addresses, so wrong ones are for it to report.
    pub fn unchecked(config: Config) -> Result<Self, StartError> {
        let (url, direct_url) = (&config.database_url, config.database_direct_url());
        let connections_max = config.database_connections_max;
        let db = Db::connect_lazy_around(url, direct_url.as_ref(), connections_max)?;
        let accounts = start::Accounts::of(&config)?;
        Ok(Self {
            db,
            topology: Topology::new(&config.broker.prefix, config.broker.timing())?,
            egress: Egress::new(Policy::Public(with_own_ports_closed(&config)))
                .with_connections(delivery::Room::of(&config.worker).connections()),
            master_keys: config.master_keys()?,
            account_keys: accounts.invoices,
            payout_keys: accounts.payouts,
            gas_key: accounts.gas,
            x402_key: accounts.x402,
            x402: x402::Facilitator::default(),
            market: market::MarketCache::default(),
            kept_payers: payout::payers::KeptPayers::default(),
            admissions: merchant::admit::Admissions::default(),
            orders: link::order::Orders::default(),
            legacy_forms: legacy::forms::Forms::default(),
            following: invoice::follow::Following::new(config.api.connections_max),
            pictures_room: Arc::new(Semaphore::new(merchant::front::DECODED_AT_ONCE)),
            exports_room: Semaphore::new(accounting::export::READ_AT_ONCE),
            exports_db: accounting::export::replica(&config)?,
            started: Instant::now(),
            key_proven: AtomicBool::new(false),
            relay_wake: Arc::new(Notify::new()),
            config,
        })
    }
}

/// Even where loopback may be called, our own database and broker may not.
fn with_own_ports_closed(config: &Config) -> PublicPolicy {
    let mut policy = config.egress.clone();
    policy.denied_ports.push(port_of(&config.database_url, 5432));
    if let Some(direct_url) = config.database_direct_url() {
        policy.denied_ports.push(port_of(&direct_url, 5432));
    }
    if let Some(replica) = config.exports_database_url() {
        policy.denied_ports.push(port_of(&replica, 5432));
    }
    policy.denied_ports.push(port_of(&config.amqp_url, amqp_port(config)));
    if let Some(management) = &config.broker.management_url {
        policy.denied_ports.push(port_of(management, 15672));
    }
    policy
}

fn amqp_port(config: &Config) -> u16 {
    if config.amqp_url.expose_secret().starts_with("amqps:") { 5671 } else { 5672 }
}

/// The encoding of the addresses of `family`: as on the real network, unless its chain is a test
/// chain by its first block.
fn realm_of(config: &Config, family: Family) -> Realm {
    let of_family = |network: &Network| network.family() == family;
    let is_test = |network: Network| config.chain(network).genesis.is_some();
    if Network::ALL.into_iter().filter(of_family).any(is_test) {
        Realm::Regtest
    } else {
        Realm::Main
    }
}

impl Gateway {
    /// The encoding of a network's addresses in this configuration.
    pub(crate) fn realm(&self, network: Network) -> Realm {
        realm_of(&self.config, network.family())
    }
}

/// Bounds a piece of work that talks to the database: a frozen server must not hold its caller for
/// ever.
pub async fn within<T, E: From<StorageError>>(
    limit: Duration,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| Err(StorageError::TimedOut.into()))
}
