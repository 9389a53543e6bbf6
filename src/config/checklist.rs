//! The check-list of production: every demand that refuses a start there, and the settings that
//! refuse none but that an operator should have decided about.

use super::{
    Config, ConfigError, Profile, check,
    given::{Given, Origin},
    reading::{Reading, exposed_secrets},
};
use crate::asset::{Family, Network};

/// Judgement about one subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Ok,
    /// Production starts all the same.
    Doubtful,
    /// Production does not start.
    Broken,
}

impl State {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Doubtful => "doubtful",
            Self::Broken => "broken",
        }
    }
}

/// A line of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub subject: &'static str,
    pub state: State,
    /// The fact, and unless it is fine, what to do.
    pub text: String,
}

impl Line {
    fn new(subject: &'static str, state: State, text: impl Into<String>) -> Self {
        Self { subject, state, text: text.into() }
    }
}

/// The list over the settings of this process, judged as production judges them.
pub struct Checklist {
    pub lines: Vec<Line>,
}

impl Checklist {
    /// Reads the settings of this process. No server is asked. `refusals` are what a start refuses
    /// after it has read them, such as keys that are of another wallet.
    ///
    /// # Errors
    /// If the file or a value cannot be read.
    pub fn read(refusals: impl FnOnce(&Config) -> Vec<String>) -> Result<Self, ConfigError> {
        let set = Reading::of_this_process(None)?;
        // Without it the sandbox's defaults would count, such as simulated chains.
        let judged = Reading::of_this_process(Some(Profile::Production))?;
        match (set.config, judged.config) {
            (Ok(config), Ok(judged)) => {
                let refusals = refusals(&judged);
                Ok(Self { lines: lines(config.profile, &judged, &set.given, &refusals) })
            }
            (Err(fault), _) | (Ok(_), Err(fault)) => {
                let mut unknown = set.given.unknown();
                unknown.push(fault);
                Err(ConfigError::Unusable(unknown))
            }
        }
    }

    /// True if production would start.
    pub fn is_met(&self) -> bool {
        self.lines.iter().all(|line| line.state != State::Broken)
    }
}

fn lines(profile: Profile, config: &Config, given: &Given, refusals: &[String]) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut demand = |subject, met: &str, faults: &[String]| {
        if faults.is_empty() {
            lines.push(Line::new(subject, State::Ok, met));
        }
        lines.extend(faults.iter().map(|fault| Line::new(subject, State::Broken, fault)));
    };
    let is_sandbox = profile == Profile::Sandbox;
    let sandbox =
        is_sandbox.then(|| "this is a sandbox; set GATEWAY_PROFILE=production".to_owned());
    demand("profile", "production", sandbox.as_slice());
    demand("names", "every given name is a setting", &given.unknown());
    let exposed = exposed_secrets(given, config);
    demand("settings file", "no other user reads a secret in it", exposed.as_slice());
    for check in &check::DEMANDS {
        demand(check.subject, check.met, &(check.faults)(config));
    }
    demand("accounts", "their keys can be read, and are apart", refusals);
    lines.extend(dashboard(config, given));
    lines.extend(doubts(config));
    lines
}

/// The dashboard is a program of its own, which an installation may do without: without an address
/// it alone does not start.
fn dashboard(config: &Config, given: &Given) -> Vec<Line> {
    const SUBJECT: &str = "dashboard";
    let faults = check::dashboard(config);
    if faults.is_empty() {
        return vec![Line::new(SUBJECT, State::Ok, "its address is an origin with TLS")];
    }
    if given.origin("dashboard_url") == Origin::Default {
        let text = "GATEWAY_DASHBOARD_URL is not set: gateway-dashboard would not start, the other programs do; set its \
                    https address if you run it";
        return vec![Line::new(SUBJECT, State::Doubtful, text)];
    }
    faults.into_iter().map(|fault| Line::new(SUBJECT, State::Broken, fault)).collect()
}

/// Lines about settings that no start refuses.
fn doubts(config: &Config) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut doubt = |subject, doubts: Vec<String>, fine: &str| {
        if doubts.is_empty() {
            lines.push(Line::new(subject, State::Ok, fine));
        }
        lines.extend(doubts.into_iter().map(|text| Line::new(subject, State::Doubtful, text)));
    };
    doubt("on sale", unsold(config), "every followed network has an address key");
    doubt("first addresses", unpinned(config), "each key has one to be compared with");
    doubt("witnesses", unwitnessed(config), "every network has a second node");
    doubt("encryption", unencrypted(config), "API and checkout are reached by https");
    let proxies = config.api.trusted_proxies.is_empty().then(|| {
        "without GATEWAY_API__TRUSTED_PROXIES all clients behind a proxy share one rate limit; name the proxy's network"
            .to_owned()
    });
    doubt("proxies", proxies.into_iter().collect(), "networks are named");
    let management = config.broker.management_url.is_none().then(|| {
        "GATEWAY_BROKER__MANAGEMENT_URL is not set; give it to the sweeper, which repairs the queues, and to gatewayctl"
            .to_owned()
    });
    doubt("management", management.into_iter().collect(), "the broker's management is known");
    doubt("payouts", payouts(config), "off, or with a second person");
    lines
}

fn followed(config: &Config) -> impl Iterator<Item = Network> {
    Network::ALL.into_iter().filter(|network| config.has_node(*network))
}

/// The setting that gives the family its addresses, with its name.
fn key(config: &Config, family: Family) -> (String, Option<&str>) {
    let addresses = &config.addresses;
    let (name, key) = match family {
        Family::Bitcoin => ("bitcoin", &addresses.bitcoin),
        Family::Litecoin => ("litecoin", &addresses.litecoin),
        Family::Dogecoin => ("dogecoin", &addresses.dogecoin),
        Family::Evm => ("evm", &addresses.evm),
        Family::Tron => ("tron", &addresses.tron),
        Family::Thorchain => ("thorchain", &addresses.thorchain),
        Family::Ton => ("ton", &addresses.ton),
        Family::Solana | Family::Near => ("pool_signer", &addresses.pool_signer),
    };
    (format!("addresses.{name}"), key.as_deref().filter(|key| !key.is_empty()))
}

fn unsold(config: &Config) -> Vec<String> {
    if Family::ALL.into_iter().all(|family| key(config, family).1.is_none()) {
        return vec![
            "no address key: nothing is on sale; set the public keys of section addresses (docs/operating.md, Keys)"
                .to_owned(),
        ];
    }
    let followed: Vec<_> = followed(config).collect();
    if followed.is_empty() {
        return vec![
            "no network is followed: nothing is on sale; give one a node, such as [chains.polygon] source = \"node\" and \
             rpc_url"
                .to_owned(),
        ];
    }
    let without = |network: &Network| {
        let (name, key) = key(config, network.family());
        key.is_none().then(|| {
            format!("{network} is followed and has no addresses; set {name}, or chains.{network}.source to off")
        })
    };
    followed.iter().filter_map(without).collect()
}

fn unpinned(config: &Config) -> Vec<String> {
    let expected = &config.addresses.expected_first_address;
    let is_open = |family: &Family| {
        let is_followed = followed(config).any(|network| network.family() == *family);
        is_followed && key(config, *family).1.is_some() && !expected.contains_key(family.name())
    };
    let open = Family::ALL.into_iter().filter(is_open);
    open.map(|family| {
        format!(
            "addresses.expected_first_address.{family} is not set; write the wallet's first address there, so that a wrong \
             key is noticed before a payment",
            family = family.name()
        )
    })
    .collect()
}

fn unwitnessed(config: &Config) -> Vec<String> {
    let is_alone = |network: &Network| config.chain(*network).witnesses.is_empty();
    let alone: Vec<_> = followed(config).filter(is_alone).map(Network::name).collect();
    if alone.is_empty() {
        return Vec::new();
    }
    let networks = alone.join(", ");
    vec![format!(
        "one node alone is believed on {networks}; unless it is your own, add witnesses to its section"
    )]
}

fn unencrypted(config: &Config) -> Vec<String> {
    [("GATEWAY_BASE_URL", &config.base_url), ("GATEWAY_CHECKOUT_URL", &config.checkout_url)]
        .into_iter()
        .filter(|(_, url)| !url.starts_with("https://"))
        .map(|(name, _)| {
            format!(
                "{name} is not https; put a proxy with TLS in front, and set its public address"
            )
        })
        .collect()
}

fn payouts(config: &Config) -> Vec<String> {
    if !config.payouts_enabled() {
        return Vec::new();
    }
    if config.payouts.two_people_above_usd > 0 {
        return Vec::new();
    }
    vec![
        "payouts.two_people_above_usd is 0: one person alone may release any sum; set the sum from which two must"
            .to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ChainSourceKind;

    /// Whether the keys can be read is asked elsewhere, of the same settings (`app::refusals`).
    const SOUND: &str = "profile = \"production\"\n\
        database_url = \"postgres://app:e6a1f0c2@db/gateway\"\n\
        amqp_url = \"amqp://app:b7d2a9c4@mq/gateway\"\n\
        master_key = \"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\"\n\
        base_url = \"https://api.example\"\ncheckout_url = \"https://pay.example\"\n\
        dashboard_url = \"https://dashboard.example\"\nrates.providers = [\"kraken\"]\n\
        api.trusted_proxies = [\"10.0.0.0/8\"]\nbroker.management_url = \"http://a:c9@mq:15672\"\n\
        addresses.evm = \"xpub-of-ours\"\naddresses.expected_first_address.evm = \"0x\"\n\
        chains.polygon.source = \"node\"\nchains.polygon.rpc_url = \"https://a\"\n\
        chains.polygon.witnesses = [\"https://b\"]\n";

    /// What is not fine, with its state.
    fn found(toml: &str) -> Vec<(&'static str, State, String)> {
        let read = Reading::of_text(toml).unwrap();
        let config = read.config.unwrap();
        let lines = lines(config.profile, &config, &read.given, &[]);
        let bad = lines.into_iter().filter(|line| line.state != State::Ok);
        bad.map(|line| (line.subject, line.state, line.text)).collect()
    }

    #[test]
    fn a_sound_production_has_nothing_to_do() {
        assert_eq!(found(SOUND), []);
    }

    /// What is replaced by what in sound settings, and the line that then tells what to do.
    const CASES: [(&str, &str, &str, State, &str); 14] = [
        ("profile = \"production\"", "", "profile", State::Broken, "GATEWAY_PROFILE=production"),
        (":e6a1f0c2", "", "passwords", State::Broken, "openssl rand"),
        ("rates.providers = [\"kraken\"]", "", "rates", State::Broken, "PROVIDERS=kraken,coinbase"),
        ("https://dashboard", "http://dashboard", "dashboard", State::Broken, "https address"),
        (
            "dashboard_url = \"https://dashboard.example\"\n",
            "",
            "dashboard",
            State::Doubtful,
            "set its https address if you run it",
        ),
        ("checkout_url", "chekout_url", "names", State::Broken, "the nearest one is checkout_url"),
        (
            "addresses.evm = \"xpub-of-ours\"",
            "",
            "on sale",
            State::Doubtful,
            "no address key: nothing is on sale; set",
        ),
        ("source = \"node\"", "source = \"off\"", "on sale", State::Doubtful, "give one a node"),
        ("chains.polygon", "chains.tron", "on sale", State::Doubtful, "set addresses.tron"),
        (
            "addresses.expected_first_address.evm = \"0x\"",
            "",
            "first addresses",
            State::Doubtful,
            "write the wallet's",
        ),
        (
            "chains.polygon.witnesses = [\"https://b\"]",
            "",
            "witnesses",
            State::Doubtful,
            "add witnesses",
        ),
        ("https://pay", "http://pay", "encryption", State::Doubtful, "put a proxy with TLS"),
        (
            "api.trusted_proxies = [\"10.0.0.0/8\"]",
            "",
            "proxies",
            State::Doubtful,
            "name the proxy's network",
        ),
        (
            "profile",
            "payouts.enabled = true\nprofile",
            "payouts",
            State::Doubtful,
            "set the sum from which two must",
        ),
    ];

    #[test]
    fn each_line_names_what_to_do() {
        for (from, to, subject, state, remedy) in CASES {
            let found = found(&SOUND.replace(from, to));
            let is_told = found.iter().any(|(told, judged, text)| {
                (*told, *judged) == (subject, state) && text.contains(remedy)
            });
            assert!(is_told, "{from} -> {to}: {found:?}");
        }
    }

    #[test]
    fn what_a_start_refuses_later_is_broken_too() {
        let read = Reading::of_text(SOUND).unwrap();
        let config = read.config.unwrap();
        let refused = ["the evm key is of another wallet".to_owned()];
        let lines = lines(config.profile, &config, &read.given, &refused);
        let line = lines.iter().find(|line| line.subject == "accounts").unwrap();
        assert_eq!((line.state, &line.text), (State::Broken, &refused[0]));
        assert!(!Checklist { lines }.is_met());
    }

    #[test]
    fn a_network_without_a_node_is_no_reason_for_a_doubt() {
        let config = Reading::of_text(SOUND).unwrap().config.unwrap();
        assert_eq!(config.chain(Network::Near).source, ChainSourceKind::Off);
        assert_eq!(followed(&config).collect::<Vec<_>>(), [Network::Polygon]);
    }
}
