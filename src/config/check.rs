//! Validation of the configuration. Every fault is a sentence that names the remedy.

use std::{collections::HashSet, net::IpAddr};

use secrecy::{ExposeSecret, SecretString};

use super::{ChainSourceKind, Config, Part, Profile};
use crate::{
    asset::{
        Network,
        address::{pool::PoolSigner, sandbox},
    },
    broker::topology::Topology,
    egress::smtp::{self, Security},
    merchant::secret::MasterKey,
    money::Price,
    payout::{PayoutFamily, transfer::address_bytes},
    rate::ProviderName,
    webhook::retry,
    x402::resource::amount,
};

const SHIPPED_MASTER_KEY: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// A demand on the settings.
pub(super) struct Demand {
    pub subject: &'static str,
    /// The fact, where the demand is met.
    pub met: &'static str,
    /// Parts of the settings that it belongs to.
    parts: &'static [Part],
    in_production_only: bool,
    pub faults: fn(&Config) -> Vec<String>,
}

const RUNNING: &[Part] = &[Part::Whole, Part::Rows];
/// Where keys are, too.
const ANYWHERE: &[Part] = &[Part::Whole, Part::Rows, Part::Sealed, Part::Nothing];

const fn always(
    subject: &'static str,
    met: &'static str,
    parts: &'static [Part],
    faults: fn(&Config) -> Vec<String>,
) -> Demand {
    Demand { subject, met, parts, in_production_only: false, faults }
}

const fn production(
    subject: &'static str,
    met: &'static str,
    faults: fn(&Config) -> Vec<String>,
) -> Demand {
    Demand { subject, met, parts: RUNNING, in_production_only: true, faults }
}

/// All demands, in the order in which their faults are told.
pub(super) const DEMANDS: [Demand; 20] = [
    always("database", "an address is set", &[Part::Whole, Part::Rows, Part::Database], database),
    always("queue names", "the prefix is usable", &[Part::Whole, Part::Rows, Part::Broker], broker),
    always("master key", "it is a key", &[Part::Whole, Part::Rows, Part::Sealed], master_key),
    always(
        "old master key",
        "there is none, or it is another",
        &[Part::Whole, Part::Rows, Part::Sealed],
        master_key_old,
    ),
    always(
        "seed keys",
        "there are none, or they are others",
        &[Part::Whole, Part::Rows, Part::Sealed, Part::Nothing],
        seed_keys,
    ),
    always("public addresses", "they are http or https", RUNNING, public_addresses),
    always("mail", "off, or complete", RUNNING, mail),
    always("networks", "their settings fit together", RUNNING, networks),
    always("payout networks", "there are payouts on them", RUNNING, payout_networks),
    always("x402", "programs can pay on its networks", RUNNING, x402),
    always("treasury", "none, or addresses of its networks", ANYWHERE, Config::treasury_faults),
    always("pool signer", "there is none, or it is a key", RUNNING, pool_signer),
    always("broker", "an address is set", &[Part::Whole], amqp),
    production("master key", "it is not the published one", shipped_master_key),
    production("passwords", "none is a default", default_passwords),
    production("rates", "they come from markets", fixed_rates),
    production("retries", "they wait as specified", other_waits),
    production("mail", "it is encrypted, or stays here", unencrypted_mail),
    production("webhooks", "they reach no private address", private_receivers),
    production("published keys and chains", "none is in use", published),
];

pub(super) fn faults(config: &Config, part: Part) -> Vec<String> {
    let in_production = config.profile == Profile::Production;
    DEMANDS
        .iter()
        .filter(|demand| demand.parts.contains(&part))
        .filter(|demand| in_production || !demand.in_production_only)
        .flat_map(|demand| (demand.faults)(config))
        .collect()
}

/// Demands of the dashboard alone: other programs run without one.
pub(super) fn dashboard(config: &Config) -> Vec<String> {
    let url = url::Url::parse(&config.dashboard_url).ok();
    let is_origin = url.as_ref().is_some_and(|url| url.path() == "/" && url.query().is_none());
    let mut faults = Vec::new();
    if !is_origin {
        faults.push(
            "GATEWAY_DASHBOARD_URL must be an origin of its own, such as https://dashboard.example, without a path"
                .to_owned(),
        );
    }
    let encrypted = url.is_some_and(|url| url.scheme() == "https");
    if config.profile == Profile::Production && !encrypted && !config.dashboard.allow_http {
        faults.push(
            "production refuses a dashboard without TLS: put a proxy in front of it and set GATEWAY_DASHBOARD_URL to its \
             https address, or set GATEWAY_DASHBOARD__ALLOW_HTTP=true within an encrypted network"
                .to_owned(),
        );
    }
    faults
}

fn database(config: &Config) -> Vec<String> {
    if !config.database_url.expose_secret().is_empty() {
        return Vec::new();
    }
    vec!["DATABASE_URL is not set (postgres://user:password@host:5432/database)".to_owned()]
}

fn broker(config: &Config) -> Vec<String> {
    let topology = Topology::new(&config.broker.prefix, config.broker.timing());
    let fault = topology.err().map(|error| format!("GATEWAY_BROKER__PREFIX: {error}"));
    fault.into_iter().collect()
}

fn amqp(config: &Config) -> Vec<String> {
    let url = config.amqp_url.expose_secret();
    if url.is_empty() {
        vec!["AMQP_URL is not set (amqp://user:password@host:5672/virtual-host)".into()]
    } else if !url::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "amqp" | "amqps")) {
        vec!["AMQP_URL must be an amqp or amqps address".into()]
    } else {
        Vec::new()
    }
}

fn master_key(config: &Config) -> Vec<String> {
    let error = MasterKey::parse(config.master_key.expose_secret()).err();
    let fault = error
        .map(|error| format!("GATEWAY_MASTER_KEY: {error}; make one with: openssl rand -hex 32"));
    fault.into_iter().collect()
}

/// An old key that is the current one would make a rotation do nothing and say that it is done.
fn master_key_old(config: &Config) -> Vec<String> {
    let name = "GATEWAY_MASTER_KEY_OLD";
    let Some(old) = &config.master_key_old else { return Vec::new() };
    let old = old.expose_secret().trim();
    if MasterKey::parse(old).is_err() {
        vec![format!("{name} is not 64 hex characters; it is the key before GATEWAY_MASTER_KEY")]
    } else if old.eq_ignore_ascii_case(config.master_key.expose_secret().trim()) {
        vec![format!("{name} is the same as GATEWAY_MASTER_KEY; set it only during a rotation")]
    } else {
        Vec::new()
    }
}

fn pool_signer(config: &Config) -> Vec<String> {
    let fault =
        config.addresses.pool_signer.as_deref().map(PoolSigner::parse).and_then(Result::err);
    let told = fault.map(|error| {
        format!("addresses.pool_signer {error}; gatewayctl addresses export prints it")
    });
    told.into_iter().collect()
}

fn x402(config: &Config) -> Vec<String> {
    let settings = &config.x402;
    let is_offered =
        |name: &str| name.parse::<Network>().ok().and_then(crate::x402::token_of).is_some();
    let mut faults = Vec::new();
    if !settings.networks.iter().chain(settings.minimum_usd.keys()).all(|name| is_offered(name)) {
        let offered = Network::ALL.into_iter().filter(|of| crate::x402::token_of(*of).is_some());
        let offered: Vec<_> = offered.map(Network::name).collect();
        faults.push(format!(
            "section x402 names a network on which programs cannot pay; they can on {}",
            offered.join(", ")
        ));
    }
    let of_network = |(name, text)| (format!("x402.minimum_usd.{name}"), text);
    let default = ("x402.minimum_usd_default".to_owned(), &settings.minimum_usd_default);
    for (key, text) in settings.minimum_usd.iter().map(of_network).chain([default]) {
        let price = Price::parse(text).ok();
        if price.and_then(|price| amount(price, 6).ok()).is_none() {
            faults.push(format!("{key} is no amount of at most 6 decimals"));
        }
    }
    faults
}

fn public_addresses(config: &Config) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, url) in [
        ("GATEWAY_BASE_URL", &config.base_url),
        ("GATEWAY_CHECKOUT_URL", &config.checkout_url),
        ("GATEWAY_DASHBOARD_URL", &config.dashboard_url),
    ] {
        if !url::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https")) {
            faults.push(format!("{name} must be an http or https address"));
        }
    }
    let telemetry = &config.telemetry;
    if !telemetry.otlp_url.is_empty() && telemetry.collector().is_none() {
        faults.push("GATEWAY_TELEMETRY__OTLP_URL must be an http or https address".into());
    }
    faults
}

fn payout_networks(config: &Config) -> Vec<String> {
    let is_offered =
        |name: &String| name.parse::<Network>().ok().and_then(PayoutFamily::of).is_some();
    if config.payouts.networks.iter().all(is_offered) {
        return Vec::new();
    }
    let offered = Network::ALL.into_iter().filter(|of| PayoutFamily::of(*of).is_some());
    let offered: Vec<_> = offered.map(Network::name).collect();
    let offered = offered.join(", ");
    vec![format!(
        "payouts.networks names a network without payouts; there are payouts on {offered}"
    )]
}

fn networks(config: &Config) -> Vec<String> {
    let mut faults = config.unusable_headers();
    for network in Network::ALL {
        let chain = config.chain(network);
        if chain.fee_rate == 0 || chain.fee_rate > chain.fee_rate_max {
            faults.push(format!("chains.{network}: fee_rate must lie between 1 and fee_rate_max"));
        }
        if chain.source != ChainSourceKind::Node {
            continue;
        }
        if chain.rpc_url.is_none() {
            faults.push(format!("chains.{network}: source node needs an rpc_url"));
        }
        let nodes = chain.rpc_url.iter().chain(&chain.witnesses);
        // Without the key that a node's address may carry behind it: two keys make no two nodes.
        let bare = |url: &'_ SecretString| url.expose_secret().split('#').next().map(str::to_owned);
        let distinct: HashSet<_> = nodes.map(bare).collect();
        if distinct.len() != usize::from(chain.rpc_url.is_some()) + chain.witnesses.len() {
            faults.push(format!("chains.{network}: a node cannot be its own witness"));
        }
        if let Some(multisend) = &chain.multisend {
            let is_usable = address_bytes(multisend).is_some();
            if !is_usable || network.evm_chain_id().is_none() {
                faults.push(format!(
                    "chains.{network}: multisend must be a contract's address on an EVM network"
                ));
            }
        }
        if network == Network::Solana && chain.chain_id.is_some() {
            faults.push(
                "chains.solana: its cluster is known by its first block; remove chain_id".into(),
            );
        }
    }
    faults
}

/// Half a setting would lose every mail without a word.
fn mail(config: &Config) -> Vec<String> {
    let mail = &config.mail;
    let mut faults = Vec::new();
    if !mail.enabled {
        return faults;
    }
    if mail.relay_host().is_none() {
        faults.push("GATEWAY_MAIL__SERVER must be host:port, such as relay.example:587".into());
    }
    if let Err(error) = smtp::sender(&mail.from) {
        faults.push(format!("GATEWAY_MAIL__FROM: {error}"));
    }
    if mail.per_address_day == 0 || mail.per_link_day == 0 {
        faults.push(
            "mail.per_address_day and mail.per_link_day must be at least 1; GATEWAY_MAIL__ENABLED=false turns mails off"
                .into(),
        );
    }
    faults
}

/// Addresses of buyers and links that renew leave this machine readable without encryption.
fn unencrypted_mail(config: &Config) -> Vec<String> {
    let host = config.mail.relay_host().map_or("", |(host, _)| host);
    let is_here = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    if !config.mail.enabled || config.mail.security != Security::None || is_here {
        return Vec::new();
    }
    vec![
        "production refuses GATEWAY_MAIL__SECURITY=none to another machine; set starttls or tls"
            .to_owned(),
    ]
}

/// A second key equal to the first protects nothing, and an all-zero one is everybody's.
fn seed_keys(config: &Config) -> Vec<String> {
    let cold = ("GATEWAY_COLD_SEED_KEY", &config.cold_seed_key);
    let payouts = ("GATEWAY_PAYOUTS__SEED_KEY", &config.payouts.seed_key);
    let x402 = ("GATEWAY_X402__SEED_KEY", &config.x402.seed_key);
    let mut faults = Vec::new();
    for (name, key) in [payouts, x402, cold] {
        let Some(key) = key else { continue };
        let key = key.expose_secret().trim();
        let equals = |other: &str| key.eq_ignore_ascii_case(other.trim());
        // The seed of the invoices must not open with what a running program holds.
        let shared = [payouts, x402].into_iter().find(|(_, text)| {
            name == cold.0 && text.as_ref().is_some_and(|text| equals(text.expose_secret()))
        });
        if MasterKey::parse(key).is_err() {
            faults.push(format!(
                "{name} is not 64 hex characters; make one with: openssl rand -hex 32"
            ));
        } else if equals(SHIPPED_MASTER_KEY) {
            faults.push(format!(
                "{name} is all zeros, which everybody knows; make one with: openssl rand -hex 32"
            ));
        } else if equals(config.master_key.expose_secret()) {
            faults.push(format!(
                "{name} must not be GATEWAY_MASTER_KEY; leave it out, or make one with: openssl rand -hex 32"
            ));
        } else if let Some((other, _)) = shared {
            faults.push(format!(
                "{name} must not be {other}, which a running program holds; make one with: openssl rand -hex 32"
            ));
        }
    }
    faults
}

fn shipped_master_key(config: &Config) -> Vec<String> {
    if config.master_key.expose_secret() != SHIPPED_MASTER_KEY {
        return Vec::new();
    }
    vec![
        "production refuses the all-zero GATEWAY_MASTER_KEY; make one with: openssl rand -hex 32"
            .to_owned(),
    ]
}

fn default_passwords(config: &Config) -> Vec<String> {
    let direct_url = config.database_direct_url();
    let exports_url = config.exports_database_url();
    let urls = [
        ("DATABASE_URL", Some(&config.database_url)),
        ("GATEWAY_DATABASE_DIRECT_URL", direct_url.as_ref()),
        ("GATEWAY_EXPORTS__DATABASE_URL", exports_url.as_ref()),
        ("AMQP_URL", Some(&config.amqp_url)),
    ];
    urls.into_iter()
        .filter(|(_, url)| url.is_some_and(|url| has_default_credentials(url.expose_secret())))
        .map(|(name, _)| {
            format!(
                "production refuses the default or missing password in {name}; give that user one: openssl rand -hex 16"
            )
        })
        .collect()
}

fn fixed_rates(config: &Config) -> Vec<String> {
    if !config.rates.providers.contains(&ProviderName::Fixed) {
        return Vec::new();
    }
    vec!["production refuses fixed rates; set GATEWAY_RATES__PROVIDERS=kraken,coinbase".to_owned()]
}

fn other_waits(config: &Config) -> Vec<String> {
    [
        ("IPN_WAIT_MS", config.broker.ipn_wait_ms, retry::IPN.delay),
        ("PAYOUT_WEBHOOK_WAIT_MS", config.broker.payout_webhook_wait_ms, retry::PAYOUT.delay),
    ]
    .into_iter()
    .map(|(name, set, specified)| (name, set, specified.as_millis()))
    .filter(|(_, set, specified)| u128::from(*set) != *specified)
    .map(|(name, set, specified)| {
        format!(
            "production refuses GATEWAY_BROKER__{name}={set}: the specification says {specified}; leave it out"
        )
    })
    .collect()
}

fn private_receivers(config: &Config) -> Vec<String> {
    if !config.egress.allow_private {
        return Vec::new();
    }
    vec!["production refuses GATEWAY_EGRESS__ALLOW_PRIVATE=true; leave it out".to_owned()]
}

fn published(config: &Config) -> Vec<String> {
    let mut faults = Vec::new();
    for network in Network::ALL {
        if config.chain(network).source == ChainSourceKind::Simulated {
            faults.push(format!(
                "production refuses the simulated chain for {network}; set chains.{network}.source to node or off"
            ));
        }
    }
    faults.extend(public_keys(config));
    faults
}

/// Accounts of the published test seed, whose coins anybody can spend.
fn public_keys(config: &Config) -> Vec<String> {
    let mut faults = Vec::new();
    let addresses = &config.addresses;
    let keys = [
        &addresses.bitcoin,
        &addresses.litecoin,
        &addresses.dogecoin,
        &addresses.evm,
        &addresses.tron,
        &addresses.thorchain,
        &addresses.ton,
        &addresses.pool_signer,
    ];
    if keys.into_iter().flatten().any(|key| sandbox::is_public_test_key(key)) {
        faults.push(
            "production refuses the published test keys in section addresses; anybody can spend from them: set your own"
                .into(),
        );
    }
    let accounts = &config.payouts.accounts;
    let paying = [
        &accounts.bitcoin,
        &accounts.litecoin,
        &accounts.dogecoin,
        &accounts.evm,
        &accounts.gas,
        &config.x402.account,
    ];
    if paying.into_iter().flatten().any(|key| sandbox::is_public_test_key(key)) {
        faults.push(
            "production refuses the published test keys in payouts.accounts and x402.account; gatewayctl payouts accounts prints your own"
                .into(),
        );
    }
    faults
}

fn has_default_credentials(url: &str) -> bool {
    const DEFAULTS: [&str; 6] = ["guest", "postgres", "gateway", "password", "admin", "changeme"];
    url::Url::parse(url)
        .is_ok_and(|url| url.password().is_none_or(|password| DEFAULTS.contains(&password)))
}
