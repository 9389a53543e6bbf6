//! Configuration: documented defaults, then an optional file, then the environment. All faults are reported together.
//!
//! `GATEWAY_API__LISTEN` sets `listen` in section `api`; `DATABASE_URL` and `AMQP_URL` are read as they are. Secrets live
//! in types that cannot be printed.

mod chains;
mod check;

use std::{fmt, net::SocketAddr, num::NonZeroU16, str::FromStr};

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use thiserror::Error;

pub use chains::{ChainSettings, ChainSourceKind};

use crate::{
    asset::Network, broker::topology::Timing, egress::guard::PublicPolicy,
    merchant::secret::MasterKey, payout::PayoutFamily, rate::RateConfig,
};

const DEFAULTS: &str = include_str!("default.toml");

/// The settings that hold several values, in the environment separated by commas.
const LISTS: [(&str, &str); 4] = [
    ("GATEWAY_PAYOUTS__NETWORKS", "payouts.networks"),
    ("GATEWAY_API__TRUSTED_PROXIES", "api.trusted_proxies"),
    ("GATEWAY_RATES__PROVIDERS", "rates.providers"),
    ("GATEWAY_EGRESS__DENIED_PORTS", "egress.denied_ports"),
];

fn environment() -> config::Environment {
    config::Environment::with_prefix("GATEWAY")
        .prefix_separator("_")
        .separator("__")
        .ignore_empty(true)
}

/// Which world a stack belongs to. Nothing crosses between the two.
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

/// Everything a process is told from outside.
#[derive(Deserialize)]
pub struct Config {
    pub profile: Profile,
    pub database_url: SecretString,
    pub database_connections_max: u32,
    pub amqp_url: SecretString,
    /// 64 hex characters that seal webhook secrets.
    master_key: SecretString,
    /// Where merchants reach the API.
    pub base_url: String,
    /// Where buyers reach the checkout; `invoice_url` is made of it.
    pub checkout_url: String,
    pub api: Api,
    pub checkout: Checkout,
    pub worker: Worker,
    pub broker: Broker,
    pub egress: PublicPolicy,
    pub rates: RateConfig,
    pub addresses: Addresses,
    pub telemetry: Telemetry,
    pub payouts: Payouts,
    pub reconciliation: Reconciliation,
    /// Overrides per network name; see [`ChainSettings`].
    chains: std::collections::HashMap<String, chains::ChainOverride>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Api {
    pub listen: SocketAddr,
    /// Liveness, readiness and metrics; not for the internet.
    pub metrics_listen: SocketAddr,
    /// Networks whose `X-Forwarded-For` is believed. None by default.
    pub trusted_proxies: Vec<ipnet::IpNet>,
    pub connections_max: usize,
    pub header_timeout_seconds: u64,
    pub request_timeout_seconds: u64,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Checkout {
    pub listen: SocketAddr,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Worker {
    pub metrics_listen: SocketAddr,
    /// How long running work may take after a stop signal.
    pub drain_seconds: u64,
    /// Attempts of one webhook channel that a process has under way at a time; those to slow endpoints are not counted.
    pub deliveries_in_flight: NonZeroU16,
    /// Attempts to slow endpoints.
    pub slow_deliveries_in_flight: NonZeroU16,
}

#[derive(Deserialize)]
pub struct Broker {
    pub prefix: String,
    /// `http://user:password@host:port`, with the topology credential. Only the sweeper and `gatewayctl` need it.
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
    /// Names of networks; empty is all on which payouts can be made.
    pub networks: Vec<String>,
    pub service_fee_bps: u32,
    pub quote_seconds: u32,
    pub funding_seconds: u32,
    /// How long a merchant may take to sign what was built for him.
    pub signing_seconds: u32,
    pub transaction_usd_max: u64,
    pub hour_usd_max: u64,
    pub day_usd_max: u64,
    pub gas_day_usd_max: u64,
    pub two_people_above_usd: u64,
    pub seed_file: Option<std::path::PathBuf>,
    seed_key: Option<SecretString>,
}

/// Balances on chain against the rows.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Reconciliation {
    /// On each network; 0 compares nothing.
    pub addresses_per_minute: u32,
    /// Between two looks where a node walks through all unspent outputs for each; 0 never looks there.
    pub scan_minutes: u32,
    /// Whether less on chain than the rows say is worth telling.
    pub deficits: bool,
}

/// Public material only: from here addresses can be derived, and nothing can be spent.
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
    /// Who must have signed the pool files of Solana and NEAR: an ed25519 public key, hex.
    pub pool_signer: Option<String>,
    /// With fewer free addresses than this, a pool raises an alert.
    pub pool_low: u32,
    /// Per family, what index 0 must give; of a pool, its lowest index.
    pub expected_first_address: std::collections::BTreeMap<String, String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Telemetry {
    /// The base address of a collector that takes OTLP over HTTP; empty exports nothing.
    pub otlp_url: String,
}

impl Telemetry {
    /// Where spans are posted: the collector's address for traces.
    pub fn collector(&self) -> Option<url::Url> {
        let base = self.otlp_url.trim_end_matches('/');
        let url = url::Url::parse(&format!("{base}/v1/traces")).ok();
        url.filter(|url| !base.is_empty() && matches!(url.scheme(), "http" | "https"))
    }
}

/// How much of the configuration must be usable. A setup step that touches one server needs no more than its address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Everything a running process depends on, and the refusals of production.
    Whole,
    /// All but the broker's address: the command line writes rows, and the running programs publish.
    Rows,
    Database,
    Broker,
    /// The master key alone: what is done away from every server.
    Sealed,
}

#[derive(Debug, Error)]
pub enum ConfigError {
    #[error("the configuration cannot be read: {0}")]
    Unreadable(#[source] Box<config::ConfigError>),
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
    /// Reads defaults, `$GATEWAY_CONFIG` if set, and the environment, and checks the whole.
    pub fn load() -> Result<Self, ConfigError> {
        Self::load_for(Part::Whole)
    }

    /// Like [`Self::load`], but checks no more than `part`.
    pub fn load_for(part: Part) -> Result<Self, ConfigError> {
        let read = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let mut builder = config::Config::builder()
            .add_source(config::File::from_str(DEFAULTS, config::FileFormat::Toml));
        if let Some(path) = read("GATEWAY_CONFIG") {
            builder = builder.add_source(config::File::new(&path, config::FileFormat::Toml));
        }
        // Texts stay texts: a password of digits must not become a number. Only lists are taken apart.
        let lists = LISTS.iter().filter_map(|(name, _)| Some(((*name).to_owned(), read(name)?)));
        let split = LISTS
            .iter()
            .fold(environment().try_parsing(true).list_separator(","), |environment, (_, key)| {
                environment.with_list_parse_key(key)
            });
        let unreadable = |error| ConfigError::Unreadable(Box::new(error));
        let config: Self = builder
            .add_source(environment())
            .add_source(split.source(Some(lists.collect())))
            .set_override_option("database_url", read("DATABASE_URL"))
            .and_then(|builder| builder.set_override_option("amqp_url", read("AMQP_URL")))
            .and_then(|builder| builder.build())
            .and_then(config::Config::try_deserialize)
            .map_err(unreadable)?;
        config.checked(part)
    }

    /// Defaults overridden by `toml`, without the environment: for tests and for several stacks in one process.
    pub fn from_toml(toml: &str) -> Result<Self, ConfigError> {
        let source = |text| config::File::from_str(text, config::FileFormat::Toml);
        let built = config::Config::builder().add_source(source(DEFAULTS)).add_source(source(toml));
        let config: Self = built
            .build()
            .and_then(config::Config::try_deserialize)
            .map_err(|error| ConfigError::Unreadable(Box::new(error)))?;
        config.checked(Part::Whole)
    }

    fn checked(self, part: Part) -> Result<Self, ConfigError> {
        let faults = check::faults(&self, part);
        if faults.is_empty() { Ok(self) } else { Err(ConfigError::Unusable(faults)) }
    }

    /// The key that seals what must be readable again.
    pub fn master_key(&self) -> Result<MasterKey, ConfigError> {
        MasterKey::parse(self.master_key.expose_secret())
            .map_err(|error| ConfigError::Unusable(vec![format!("GATEWAY_MASTER_KEY: {error}")]))
    }

    /// The key that seals the wallet's seed: one of its own where there is one, else the master key.
    pub fn seed_key(&self) -> Result<MasterKey, ConfigError> {
        let Some(key) = &self.payouts.seed_key else { return self.master_key() };
        MasterKey::parse(key.expose_secret()).map_err(|_| {
            ConfigError::Unusable(vec!["GATEWAY_PAYOUTS__SEED_KEY is not 64 hex characters".into()])
        })
    }

    pub fn is_sandbox(&self) -> bool {
        self.profile == Profile::Sandbox
    }

    /// Whether merchants may pay out: by default in the sandbox only.
    pub fn payouts_enabled(&self) -> bool {
        self.payouts.enabled.unwrap_or(self.profile == Profile::Sandbox)
    }

    /// Whether payouts are offered on a network, if they are offered at all.
    pub fn pays_out_on(&self, network: Network) -> bool {
        let named = &self.payouts.networks;
        PayoutFamily::of(network).is_some()
            && self.chain(network).source != ChainSourceKind::Off
            && (named.is_empty() || named.iter().any(|name| name == network.name()))
    }

    /// Shorter windows exist only in the sandbox.
    pub fn window_seconds_min(&self) -> u32 {
        match self.profile {
            Profile::Sandbox => 1,
            Profile::Production => crate::merchant::settings::WINDOW_SECONDS_MIN_PRODUCTION,
        }
    }
}

/// The port in a `scheme://…@host:port/…` address, for the egress guard's list of our own doors.
pub(crate) fn port_of(url: &SecretString, default: u16) -> u16 {
    url::Url::from_str(url.expose_secret()).ok().and_then(|url| url.port()).unwrap_or(default)
}
