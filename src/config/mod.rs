//! Configuration: documented defaults, then an optional file, then a folder of secrets, then the
//! environment. All faults are reported together.
//!
//! `GATEWAY_API__LISTEN` sets `listen` in section `api`; `DATABASE_URL` and `AMQP_URL` keep their
//! own names. A name that is no setting is a fault. Secrets have types that cannot be printed.

mod chains;
mod check;
mod checklist;
mod given;
mod keys;
mod overview;
mod reading;
mod secret_files;
mod table;
mod treasury;
mod value;

use std::{fmt, net::SocketAddr, num::NonZeroU16, str::FromStr};

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use thiserror::Error;

pub use chains::{ChainSettings, ChainSourceKind};
pub use checklist::{Checklist, Line, State};
pub use given::{Origin, variable_fault};
pub use overview::{Overview, Setting};
pub use treasury::{Treasury, Unpinned};
pub use value::Shown;

use crate::{
    asset::Network,
    broker::topology::Timing,
    egress::{
        guard::PublicPolicy,
        smtp::{RelaySettings, Security},
    },
    mail::budget::Budget,
    payout::PayoutFamily,
    rate::RateConfig,
    x402,
};
use reading::Reading;

/// Sandbox or production. Nothing is shared between the two.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    Sandbox,
    Production,
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sandbox => "sandbox",
            Self::Production => "production",
        })
    }
}

/// All settings of a process.
#[derive(Deserialize)]
pub struct Config {
    pub profile: Profile,
    pub database_url: SecretString,
    database_direct_url: SecretString,
    pub database_connections_max: u32,
    pub amqp_url: SecretString,
    /// 64 hex characters of the key that seals webhook secrets.
    master_key: SecretString,
    /// The key before it, while a rotation goes on. It opens and never seals.
    master_key_old: Option<SecretString>,
    /// The key that seals the seed of the invoices. No running program needs it.
    cold_seed_key: Option<SecretString>,
    /// URL at which merchants reach the API.
    pub base_url: String,
    /// URL at which buyers reach the checkout, used for `invoice_url`.
    pub checkout_url: String,
    /// URL at which people reach the dashboard, used for invitations and compared with `Origin`.
    pub dashboard_url: String,
    pub api: Api,
    pub checkout: Checkout,
    pub dashboard: Dashboard,
    pub worker: Worker,
    pub broker: Broker,
    pub egress: PublicPolicy,
    pub rates: RateConfig,
    pub addresses: Addresses,
    pub telemetry: Telemetry,
    pub payouts: Payouts,
    pub legacy: Legacy,
    pub mail: Mail,
    pub x402: X402,
    exports: Exports,
    pub reconciliation: Reconciliation,
    pub treasury: Treasury,
    /// Overrides per network name; see [`ChainSettings`].
    chains: std::collections::HashMap<String, chains::ChainOverride>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Api {
    pub listen: SocketAddr,
    /// Liveness, readiness and metrics; not for the internet.
    pub metrics_listen: SocketAddr,
    /// Networks whose `X-Forwarded-For` is trusted. None by default.
    pub trusted_proxies: Vec<ipnet::IpNet>,
    pub connections_max: usize,
    pub header_timeout_seconds: u64,
    /// Idle timeout of a kept connection.
    pub idle_timeout_seconds: u64,
    pub request_timeout_seconds: u64,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Checkout {
    pub listen: SocketAddr,
}

#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Dashboard {
    pub listen: SocketAddr,
    pub metrics_listen: SocketAddr,
    /// Lets production serve the dashboard over plain http, for an encrypted network of one's own.
    pub allow_http: bool,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Worker {
    pub metrics_listen: SocketAddr,
    /// Maximum time for running work to finish after a stop signal.
    pub drain_seconds: u64,
    /// Concurrent delivery attempts per process and webhook channel; those to slow endpoints are
    /// not counted.
    pub deliveries_in_flight: NonZeroU16,
    /// Concurrent attempts to slow endpoints.
    pub slow_deliveries_in_flight: NonZeroU16,
}

#[derive(Deserialize)]
pub struct Broker {
    pub prefix: String,
    /// `http://user:password@host:port`, with the topology credential. The sweeper and `gatewayctl`
    /// need it; the dashboard shows the queues where it has it.
    pub management_url: Option<SecretString>,
    pub vhost: String,
    pub ipn_wait_ms: u64,
    pub payout_webhook_wait_ms: u64,
    /// Passwords that `gatewayctl topology apply` gives to the users it creates.
    pub application_password: Option<SecretString>,
    pub operator_password: Option<SecretString>,
    pub topology_password: Option<SecretString>,
}

/// Mass payouts.
#[derive(Debug, Clone, Deserialize)]
pub struct Payouts {
    pub enabled: Option<bool>,
    /// Names of networks; empty means all on which payouts can be made.
    pub networks: Vec<String>,
    pub service_fee_bps: u32,
    pub quote_seconds: u32,
    pub funding_seconds: u32,
    /// Time that a merchant has to sign a transaction that was built for them.
    pub signing_seconds: u32,
    pub transaction_usd_max: u64,
    pub hour_usd_max: u64,
    pub day_usd_max: u64,
    pub merchant_hour_usd_max: u64,
    pub merchant_day_usd_max: u64,
    pub open_orders_max: u32,
    pub gas_day_usd_max: u64,
    pub two_people_above_usd: u64,
    pub seed_file: Option<std::path::PathBuf>,
    /// The seed of orders that were confirmed before the accounts or the seed were changed, sealed
    /// like the other.
    pub earlier_seed_file: Option<std::path::PathBuf>,
    #[serde(default)]
    pub accounts: PayoutAccounts,
    seed_key: Option<SecretString>,
}

/// The accounts that pay, public keys only; their seed is not the one of section `addresses`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct PayoutAccounts {
    pub bitcoin: Option<String>,
    pub litecoin: Option<String>,
    pub dogecoin: Option<String>,
    pub evm: Option<String>,
    /// The wallet that fronts gas is its first address.
    pub gas: Option<String>,
}

/// The `/legacy` adapter.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Legacy {
    /// Addresses without an invoice of one merchant in a family of networks whose addresses are
    /// derived: each stays watched for ever, and costs every watcher memory.
    pub addresses_max: u32,
    /// The same where they come from a pool, which all merchants share and an operator fills.
    pub pooled_addresses_max: u32,
}

/// Mails to buyers.
#[derive(Deserialize)]
pub struct Mail {
    pub enabled: bool,
    /// `host:port` of the relay.
    pub server: String,
    pub security: Security,
    /// The sender, `name@example.com` or `Name <name@example.com>`.
    pub from: String,
    pub user: String,
    password: Option<SecretString>,
    pub ca_file: Option<std::path::PathBuf>,
    pub per_address_day: u32,
    pub per_link_day: u32,
}

impl Mail {
    /// Host and port of the relay.
    pub fn relay_host(&self) -> Option<(&str, u16)> {
        let (host, port) = self.server.rsplit_once(':')?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let port = port.parse::<u16>().ok().filter(|port| *port > 0)?;
        (!host.is_empty()).then_some((host, port))
    }

    /// The settings of the relay's client; `None` while mails are off.
    pub fn relay(&self) -> Option<RelaySettings> {
        let (host, port) = self.relay_host().filter(|_| self.enabled)?;
        let password = self.password.clone().filter(|_| !self.user.is_empty());
        Some(RelaySettings {
            host: host.to_owned(),
            port,
            security: self.security,
            from: self.from.clone(),
            credentials: password.map(|password| (self.user.clone(), password)),
            ca_file: self.ca_file.clone(),
        })
    }

    pub const fn budget(&self) -> Budget {
        Budget { per_address: self.per_address_day, per_link: self.per_link_day }
    }
}

/// Payments of programs over HTTP (x402).
#[derive(Debug, Clone, Deserialize)]
pub struct X402 {
    pub enabled: bool,
    /// Names of networks; empty means the usual ones that are followed on a node.
    pub networks: Vec<String>,
    /// The least that is settled, in USD, by network.
    pub minimum_usd: std::collections::BTreeMap<String, String>,
    pub minimum_usd_default: String,
    pub gas_transaction_usd_max: u64,
    pub gas_hour_usd_max: u64,
    pub gas_day_usd_max: u64,
    /// Time that `/settle` waits for the block.
    pub settle_wait_seconds: u64,
    /// Settlements of one merchant that are in no block yet.
    pub open_settlements_max: u32,
    /// Requests per second to `/verify` and `/settle` of one merchant in each process.
    pub requests_per_second: u32,
    pub seed_file: Option<std::path::PathBuf>,
    /// The xpub of the account whose first address pays the gas.
    pub account: Option<String>,
    seed_key: Option<SecretString>,
}

/// Accounting exports.
#[derive(Deserialize)]
struct Exports {
    /// The replica that they are read from; empty for the primary.
    database_url: SecretString,
}

/// Comparison of balances on chain with the database.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Reconciliation {
    /// Addresses compared per minute on each network; 0 disables the comparison.
    pub addresses_per_minute: u32,
    /// Minutes between two scans on nodes that walk through all unspent outputs for each; 0
    /// disables them.
    pub scan_minutes: u32,
    /// Reports a deficit, that is a balance on chain below that of the database.
    pub deficits: bool,
}

/// Public keys only: addresses can be derived from them, but nothing can be spent.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Addresses {
    pub bitcoin: Option<String>,
    pub litecoin: Option<String>,
    pub dogecoin: Option<String>,
    pub evm: Option<String>,
    pub tron: Option<String>,
    pub thorchain: Option<String>,
    /// An ed25519 public key, hex.
    pub ton: Option<String>,
    /// Public key that must have signed the pool files of Solana and NEAR: ed25519, hex.
    pub pool_signer: Option<String>,
    /// Number of free addresses below which a pool raises an alert.
    pub pool_low: u32,
    /// Expected address of index 0 per family; for a pool, of its lowest index.
    pub expected_first_address: std::collections::BTreeMap<String, String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Telemetry {
    /// Base URL of a collector for OTLP over HTTP; empty disables the export.
    pub otlp_url: String,
}

impl Telemetry {
    /// URL for spans: the collector's path for traces.
    pub fn collector(&self) -> Option<url::Url> {
        let base = self.otlp_url.trim_end_matches('/');
        let url = url::Url::parse(&format!("{base}/v1/traces")).ok();
        url.filter(|url| !base.is_empty() && matches!(url.scheme(), "http" | "https"))
    }
}

/// The part of the configuration that must be valid. A setup step that uses one server needs only
/// its address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Everything that a running process depends on, and the refusals of production.
    Whole,
    /// All but the broker's address: the command line writes rows, and the running programs publish
    /// them.
    Rows,
    Database,
    Broker,
    /// Only the master key, for work without any server.
    Sealed,
    /// Nothing at all: keys can be made where no setting is. What is set is looked at.
    Nothing,
}

#[derive(Debug, Error)]
pub enum ConfigError {
    #[error("the configuration cannot be read: {0}")]
    Unreadable(String),
    #[error("the configuration is not usable:\n{}", list(.0))]
    Unusable(Vec<String>),
}

fn list(faults: &[String]) -> String {
    faults.iter().map(|fault| format!("  - {fault}\n")).collect()
}

impl Broker {
    pub const fn timing(&self) -> Timing {
        Timing {
            ipn_wait_ms: self.ipn_wait_ms,
            payout_webhook_wait_ms: self.payout_webhook_wait_ms,
        }
    }
}

impl Config {
    /// Reads defaults, `$GATEWAY_CONFIG`, the folder `$GATEWAY_SECRETS_DIR` and the environment,
    /// and checks everything.
    pub fn load() -> Result<Self, ConfigError> {
        Self::load_for(Part::Whole)
    }

    /// Like [`Self::load`], but checks only `part`.
    pub fn load_for(part: Part) -> Result<Self, ConfigError> {
        Reading::of_this_process(None)?.checked(part)
    }

    /// Builds the defaults overridden by `toml`, without the environment: for tests and for several
    /// stacks in one process.
    pub fn from_toml(toml: &str) -> Result<Self, ConfigError> {
        Reading::of_text(toml)?.checked(Part::Whole)
    }

    /// As [`Self::load`] for the dashboard, which needs no broker, and refuses to serve sessions
    /// over plain http in production.
    pub fn load_for_dashboard() -> Result<Self, ConfigError> {
        let config = Self::load_for(Part::Rows)?;
        let faults = check::dashboard(&config);
        if faults.is_empty() { Ok(config) } else { Err(ConfigError::Unusable(faults)) }
    }

    /// The address of PostgreSQL itself, where `database_url` leads to a pooler. Without a user of
    /// its own it has the one of `database_url`, so that programs with users of their own share it.
    pub fn database_direct_url(&self) -> Option<SecretString> {
        let text = self.database_direct_url.expose_secret();
        if text.is_empty() {
            return None;
        }
        let borrowed = || {
            let mut direct = url::Url::parse(text).ok().filter(|url| url.username().is_empty())?;
            let pooled = url::Url::parse(self.database_url.expose_secret()).ok()?;
            direct.set_username(pooled.username()).ok()?;
            direct.set_password(pooled.password()).ok()?;
            Some(String::from(direct))
        };
        Some(borrowed().unwrap_or_else(|| text.to_owned()).into())
    }

    /// The replica that exports are read from.
    pub fn exports_database_url(&self) -> Option<SecretString> {
        let url = &self.exports.database_url;
        (!url.expose_secret().is_empty()).then(|| url.clone())
    }

    /// Returns true if programs may pay on the network: it is named, or nothing is and it is one
    /// of the cheap ones, and a node follows it. On simulated chains nothing can be signed for.
    pub fn takes_x402_on(&self, network: Network) -> bool {
        let usual = [
            Network::Polygon,
            Network::Arbitrum,
            Network::Optimism,
            Network::Base,
            Network::Avalanche,
        ];
        let named = &self.x402.networks;
        let is_chosen = if named.is_empty() {
            usual.contains(&network)
        } else {
            named.iter().any(|name| name == network.name())
        };
        let is_followed = self.chain(network).source == ChainSourceKind::Node;
        self.x402.enabled && is_chosen && is_followed && x402::token_of(network).is_some()
    }

    pub fn is_sandbox(&self) -> bool {
        self.profile == Profile::Sandbox
    }

    /// Returns true if merchants may pay out: by default in the sandbox only.
    pub fn payouts_enabled(&self) -> bool {
        self.payouts.enabled.unwrap_or(self.profile == Profile::Sandbox)
    }

    /// Returns true if payouts are offered on the network, provided that they are enabled.
    pub fn pays_out_on(&self, network: Network) -> bool {
        let named = &self.payouts.networks;
        PayoutFamily::of(network).is_some()
            && self.chain(network).source != ChainSourceKind::Off
            && (named.is_empty() || named.iter().any(|name| name == network.name()))
    }

    /// Shorter windows are allowed only in the sandbox.
    pub fn window_seconds_min(&self) -> u32 {
        match self.profile {
            Profile::Sandbox => 1,
            Profile::Production => crate::merchant::settings::WINDOW_SECONDS_MIN_PRODUCTION,
        }
    }
}

/// The port in a `scheme://…@host:port/…` address, for the egress guard's list of our own ports.
pub(crate) fn port_of(url: &SecretString, default: u16) -> u16 {
    url::Url::from_str(url.expose_secret()).ok().and_then(|url| url.port()).unwrap_or(default)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direct_url(direct: &str) -> Option<String> {
        let toml = format!(
            "database_url = \"postgres://gw_api:a%40b@pooler:6432/gateway\"\n\
             database_direct_url = {direct:?}\namqp_url = \"amqp://localhost/vhost\"\n\
             master_key = \"{}\"",
            "00".repeat(32)
        );
        let url = Config::from_toml(&toml).unwrap().database_direct_url();
        url.map(|url| url.expose_secret().to_owned())
    }

    #[test]
    fn a_direct_address_without_a_user_takes_the_one_of_the_pooled() {
        assert_eq!(direct_url(""), None);
        let borrowed = "postgres://gw_api:a%40b@primary:5432/gateway?sslmode=require";
        let bare = "postgres://primary:5432/gateway?sslmode=require";
        assert_eq!(direct_url(bare).as_deref(), Some(borrowed));
        let own = "postgres://watcher:secret@primary/gateway";
        assert_eq!(direct_url(own).as_deref(), Some(own));
    }
}
