//! Settings that were given, and where: in the file or in the environment. One that does not exist
//! is a fault, since it would leave its author believing that it is set.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::{Path, PathBuf},
};

use config::{Map, Value, ValueKind};

use super::{Config, Treasury, secret_files::SecretFiles, table};
use crate::asset::{Family, Network};

/// Variables that begin as ours do and are no settings: of the programs' logs and command line, of
/// scripts that share a shell with them (`.run/stack.env`, the ports of `docker-compose.yml`), and
/// of merchants' programs as documents show them.
const NOT_SETTINGS: [&str; 11] = [
    "GATEWAY_CONFIG",
    "GATEWAY_SECRETS_DIR",
    "GATEWAY_LOG",
    "GATEWAY_OPERATOR",
    "GATEWAY_METRICS_URL",
    "GATEWAY_WORKER_METRICS_URL",
    "GATEWAY_DASHBOARD_METRICS_URL",
    "GATEWAY_API_PORT",
    "GATEWAY_CHECKOUT_PORT",
    "GATEWAY_DASHBOARD_PORT",
    "GATEWAY_API_KEY",
];
const OF_TESTS: &str = "GATEWAY_TEST_";
const PREFIX: &str = "GATEWAY_";

/// Origin of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Default,
    /// The file that `GATEWAY_CONFIG` names, or one of the folder that `GATEWAY_SECRETS_DIR` names.
    File(PathBuf),
    /// The variable of this name.
    Environment(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Environment(name) => f.write_str(name),
        }
    }
}

/// Names that were given; no values.
#[derive(Debug, Default)]
pub(super) struct Given {
    file: Option<(PathBuf, BTreeSet<String>)>,
    /// Files of secrets by the setting that they are called after.
    secrets: BTreeMap<String, PathBuf>,
    /// Variables by the setting that they name.
    variables: BTreeMap<String, String>,
}

impl Given {
    /// `variables` with their values; an empty one is unset, as for the settings themselves.
    pub(super) fn new(
        file: Option<(PathBuf, &Map<String, Value>)>,
        variables: impl Iterator<Item = (String, String)>,
    ) -> Self {
        let variables: BTreeMap<_, _> = variables.filter(|(_, value)| !value.is_empty()).collect();
        let mut by_key: BTreeMap<_, _> = variables
            .iter()
            .filter(|(name, value)| !is_of_others(name, value, &variables))
            .filter_map(|(name, _)| Some((key_of(name)?, name.clone())))
            .collect();
        // These have names of their own, which win.
        for (name, key) in [("DATABASE_URL", "database_url"), ("AMQP_URL", "amqp_url")] {
            if variables.contains_key(name) {
                by_key.insert(key.to_owned(), name.to_owned());
            }
        }
        let file = file.map(|(path, table)| {
            let mut keys = BTreeSet::new();
            leaves(table, "", &known(), &mut keys);
            (path, keys)
        });
        Self { file, secrets: BTreeMap::new(), variables: by_key }
    }

    pub(super) fn with_secrets(mut self, files: &SecretFiles) -> Self {
        let by_key = files.set().filter_map(|(name, path)| Some((key_of(name)?, path.clone())));
        self.secrets = by_key.collect();
        self
    }

    /// The settings file, if it sets `key` and nothing overrides it.
    pub(super) fn settings_file_of(&self, key: &str) -> Option<&Path> {
        let (path, keys) = self.file.as_ref()?;
        let is_overridden = self.variables.contains_key(key) || self.secrets.contains_key(key);
        (keys.contains(key) && !is_overridden).then_some(path.as_path())
    }

    /// Where the value of a setting comes from.
    pub(super) fn origin(&self, key: &str) -> Origin {
        if let Some(name) = self.variables.get(key) {
            return Origin::Environment(name.clone());
        }
        if let Some(path) = self.secrets.get(key) {
            return Origin::File(path.clone());
        }
        match &self.file {
            Some((path, keys)) if keys.contains(key) => Origin::File(path.clone()),
            Some(_) | None => Origin::Default,
        }
    }

    /// A sentence for each name that is no setting: where it stands, and the nearest that is one.
    pub(super) fn unknown(&self) -> Vec<String> {
        let known = known();
        let is_unknown = |key: &&String| !known.contains(key);
        let mut faults = Vec::new();
        if let Some((path, keys)) = &self.file {
            for key in keys.iter().filter(is_unknown) {
                let remedy = remedy(key, key, &known, String::clone);
                faults.push(format!("{key} (in {}) {remedy}", path.display()));
            }
        }
        for (key, path) in self.secrets.iter().filter(|(key, _)| is_unknown(key)) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
            let remedy = remedy(key, &name, &known, |key| variable_of(key));
            faults.push(format!("{} {remedy}", path.display()));
        }
        for (key, name) in self.variables.iter().filter(|(key, _)| is_unknown(key)) {
            let remedy = remedy(key, &name.to_uppercase(), &known, |key| variable_of(key));
            faults.push(format!("{name} (in the environment) {remedy}"));
        }
        faults
    }
}

/// The fault of a variable with this name and value, if no program would start with it. For files
/// of deployments, which name the variables of programs.
pub fn variable_fault(name: &str, value: &str) -> Option<String> {
    let variables = [(name.to_owned(), value.to_owned())].into_iter();
    Given::new(None, variables).unknown().pop()
}

/// All settings by their names in the file.
pub(super) fn known() -> Vec<String> {
    table::all(&Config::defaults()).map(|row| row.key).collect()
}

/// The variable that sets `key`.
pub(super) fn variable_of(key: &str) -> String {
    format!("{PREFIX}{}", key.replace('.', "__").to_uppercase())
}

/// The setting that a variable names, in any case, as the environment is read; `None` for a
/// variable that does not begin as ours do.
pub(super) fn key_of(name: &str) -> Option<String> {
    let rest = name.to_uppercase().strip_prefix(PREFIX)?.to_lowercase();
    Some(rest.replace("__", "."))
}

fn is_of_others(name: &str, value: &str, all: &BTreeMap<String, String>) -> bool {
    // Tests have the address of their broker under a second name; alone it is a misspelt setting.
    let is_copy = name == "GATEWAY_BROKER_MANAGEMENT_URL"
        && all.contains_key("GATEWAY_BROKER__MANAGEMENT_URL");
    NOT_SETTINGS.contains(&name) || name.starts_with(OF_TESTS) || is_copy || is_link(name, value)
}

/// True for variables that Kubernetes makes of a Service that is called `gateway-…`, such as
/// `GATEWAY_API_SERVICE_HOST` and `GATEWAY_API_PORT=tcp://10.0.0.1:8080`.
fn is_link(name: &str, value: &str) -> bool {
    let is_port = name.rsplit_once("_PORT_").is_some_and(|(_, rest)| {
        let mut parts = rest.split('_');
        let is_number = parts.next().is_some_and(|port| port.parse::<u16>().is_ok());
        is_number && parts.next().is_some_and(|name| ["TCP", "UDP", "SCTP"].contains(&name))
    });
    let is_service = name.ends_with("_SERVICE_HOST") || name.contains("_SERVICE_PORT");
    !name.contains("__")
        && (is_service || is_port || name.ends_with("_PORT") && value.contains("://"))
}

/// Collects the names in `table`, down to settings and to names with nothing below them.
fn leaves(
    table: &Map<String, Value>,
    section: &str,
    known: &[String],
    keys: &mut BTreeSet<String>,
) {
    for (name, value) in table {
        let key = format!("{section}{name}");
        let below = format!("{key}.");
        if let ValueKind::Table(inner) = &value.kind {
            if !inner.is_empty() && !known.contains(&key) {
                leaves(inner, &below, known, keys);
                continue;
            }
            // A section without a setting sets nothing.
            if inner.is_empty() && known.iter().any(|known| known.starts_with(&below)) {
                continue;
            }
        }
        keys.insert(key);
    }
}

fn remedy(key: &str, written: &str, known: &[String], spelt: impl Fn(&String) -> String) -> String {
    let below = format!("{key}.");
    if known.iter().any(|known| known.starts_with(&below)) {
        return "is a section, and takes no value itself".to_owned();
    }
    let because = because(key).map(|reason| format!(" ({reason})")).unwrap_or_default();
    let names = known.iter().map(spelt);
    let nearest = names.min_by_key(|name| distance(written, name)).unwrap_or_default();
    format!("is no setting{because}; the nearest one is {nearest}. Correct it, or remove it")
}

/// The reason where a name in the middle is wrong, which stands for something that has a list.
fn because(key: &str) -> Option<String> {
    if let Some(family) = key.strip_prefix("addresses.expected_first_address.") {
        let families = Family::ALL.map(Family::name).join(", ");
        return Some(format!("addresses.expected_first_address.{family}: families are {families}"));
    }
    if let Some(network) = key.strip_prefix("treasury.token_fee_max.") {
        let networks: Vec<_> = Treasury::of_tokens().collect();
        let networks = networks.join(", ");
        return Some(format!("treasury.token_fee_max.{network}: networks are {networks}"));
    }
    let (name, _) = key.strip_prefix("chains.")?.split_once('.')?;
    let is_unknown = name.parse::<Network>().is_err();
    is_unknown.then(|| format!("section chains.{name} names no network"))
}

/// Single-character insertions, removals and replacements between two texts (Levenshtein).
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (index, is) in from.chars().enumerate() {
        let mut above_left = index;
        let mut left = index + 1;
        for (above, wanted) in row.iter_mut().skip(1).zip(&to) {
            let replaced = above_left + usize::from(is != *wanted);
            above_left = *above;
            left = replaced.min(left + 1).min(*above + 1);
            *above = left;
        }
        if let Some(first) = row.first_mut() {
            *first = index + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_of(toml: &str) -> String {
        let error = Config::from_toml(toml).err();
        error.map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn every_name_in_the_documented_defaults_is_a_setting() {
        let (known, mut section, mut count) = (known(), String::new(), 0);
        for line in include_str!("default.toml").lines() {
            let line = line.trim_start_matches("# ");
            if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                section = format!("{name}.");
            } else if let Some((key, _)) = line.split_once(" = ") {
                if key.contains(' ') {
                    continue;
                }
                let key = format!("{section}{key}");
                assert!(known.contains(&key), "{key} is documented and does not exist");
                count += 1;
            }
        }
        assert!(count > 80, "only {count} settings were found");
    }

    #[test]
    fn a_name_in_the_file_that_is_no_setting_is_refused_with_the_nearest() {
        for (toml, named) in [
            (
                "[api]\nlistn = \"127.0.0.1:1\"",
                "api.listn (in the text) is no setting; the nearest one is api.listen.",
            ),
            ("profil = \"production\"", "the nearest one is profile."),
            ("[payout]\nenabled = true", "the nearest one is payouts.enabled."),
            ("[broker]\nmanagment_url = \"hunter2\"", "the nearest one is broker.management_url."),
            (
                "[chains.polygn]\nsource = \"off\"",
                "section chains.polygn names no network); the nearest one is chains.polygon.source.",
            ),
            (
                "[chains.polygon]\nconfirmation = 3",
                "the nearest one is chains.polygon.confirmations.",
            ),
            ("[addresses.expected_first_address]\nemv = \"0x\"", "emv: families are"),
            ("api = 5", "api (in the text) is a section"),
            ("[chians]", "chians (in the text) is no setting"),
        ] {
            let said = faults_of(toml);
            assert!(said.contains(named), "{toml}: {said}");
            assert!(!said.contains("hunter2"), "{toml}: {said}");
        }
        assert!(!faults_of("[api]\n[chains]\n[chains.polygon]").contains("is no setting"));
    }

    #[test]
    fn a_variable_that_is_no_setting_is_refused_with_the_nearest() {
        for (name, named) in [
            ("GATEWAY_PROFIL", "the nearest one is GATEWAY_PROFILE."),
            ("GATEWAY_API_LISTEN", "the nearest one is GATEWAY_API__LISTEN."),
            ("GATEWAY_BROKER_MANAGEMENT_URL", "the nearest one is GATEWAY_BROKER__MANAGEMENT_URL."),
            ("GATEWAY_CHAINS__POLYGN__SOURCE", "section chains.polygn names no network"),
            ("GATEWAY_MAIL__SEVER", "GATEWAY_MAIL__SEVER (in the environment) is no setting"),
            ("gateway_mail__sever", "the nearest one is GATEWAY_MAIL__SERVER."),
            ("GATEWAY_API", "is a section"),
            ("GATEWAY_CHAINS__POLYGON", "is a section"),
        ] {
            let said = variable_fault(name, "hunter2").unwrap_or_default();
            assert!(said.contains(named), "{name}: {said}");
            assert!(!said.contains("hunter2"), "{name}: {said}");
        }
    }

    #[test]
    fn settings_and_variables_of_others_are_let_through() {
        for (name, value) in [
            ("GATEWAY_PROFILE", "sandbox"),
            ("gateway_profile", "sandbox"),
            ("GATEWAY_CHAINS__POLYGON__RPC_URL", "https://node"),
            ("GATEWAY_ADDRESSES__EXPECTED_FIRST_ADDRESS__EVM", "0x"),
            ("GATEWAY_MASTER_KEY_OLD", "0"),
            ("GATEWAY_PROFIL", ""),
            ("DATABSE_URL", "not ours"),
            ("GATEWAYCTL", "/usr/bin/gatewayctl"),
            ("GATEWAY_CONFIG", "/etc/gateway.toml"),
            ("GATEWAY_SECRETS_DIR", "/run/secrets"),
            ("GATEWAY_LOG", "text"),
            ("GATEWAY_OPERATOR", "ada"),
            ("GATEWAY_TEST_SEED", "14"),
            ("GATEWAY_METRICS_URL", "http://127.0.0.1:9080"),
            ("GATEWAY_CHECKOUT_PORT", "8081"),
            ("GATEWAY_API_SERVICE_HOST", "10.0.0.1"),
            ("GATEWAY_API_SERVICE_PORT_HTTP", "8080"),
            ("GATEWAY_DASHBOARD_PORT_8082_TCP_ADDR", "10.0.0.1"),
            ("GATEWAY_SHOP_PORT", "tcp://10.0.0.1:80"),
            ("GATEWAY_PORT_A_PORT_80_TCP_PROTO", "tcp"),
            ("GATEWAY_API_KEY", "of a merchant"),
        ] {
            assert_eq!(variable_fault(name, value), None, "{name}={value}");
        }
        // Beside the setting that it copies, as in the environment of tests.
        let both = ["GATEWAY_BROKER_MANAGEMENT_URL", "GATEWAY_BROKER__MANAGEMENT_URL"];
        let both = both.map(|name| (name.to_owned(), "http://host".to_owned()));
        assert_eq!(Given::new(None, both.into_iter()).unknown(), Vec::<String>::new());
    }

    #[test]
    fn the_environment_wins_over_the_file_and_the_variable_of_its_own_name_over_the_other() {
        let toml = config::File::from_str(
            "profile = \"sandbox\"\ndatabase_url = \"a\"\n[api]\nlisten = \"b\"",
            config::FileFormat::Toml,
        );
        let table = config::Source::collect(&toml).unwrap();
        let variables =
            [("GATEWAY_PROFILE", "sandbox"), ("GATEWAY_DATABASE_URL", "c"), ("DATABASE_URL", "d")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let given = Given::new(Some(("/etc/gw.toml".into(), &table)), variables.into_iter());
        let told = ["profile", "database_url", "api.listen", "base_url"]
            .map(|key| given.origin(key).to_string());
        assert_eq!(told, ["GATEWAY_PROFILE", "DATABASE_URL", "/etc/gw.toml", "default"]);
    }

    #[test]
    fn the_distance_counts_insertions_removals_and_replacements() {
        for (from, to, expected) in [
            ("", "", 0),
            ("", "ab", 2),
            ("ab", "", 2),
            ("kitten", "sitting", 3),
            ("a_b", "a__b", 1),
            ("same", "same", 0),
        ] {
            assert_eq!(distance(from, to), expected, "{from} {to}");
        }
    }
}
