//! Reading of the settings from their sources. Errors never repeat a value, which may be secret.

use std::path::{Path, PathBuf};

use config::{FileFormat, Map, Source, Value, builder::DefaultState};

use super::{
    Config, ConfigError, Part, Profile, check,
    given::Given,
    secret_files::{self, SecretFiles},
    table,
    value::Shown,
};

type Builder = config::ConfigBuilder<DefaultState>;

const DEFAULTS: &str = include_str!("default.toml");

/// Settings with several values, which the environment separates by commas.
const LISTS: [(&str, &str); 5] = [
    ("GATEWAY_PAYOUTS__NETWORKS", "payouts.networks"),
    ("GATEWAY_X402__NETWORKS", "x402.networks"),
    ("GATEWAY_API__TRUSTED_PROXIES", "api.trusted_proxies"),
    ("GATEWAY_RATES__PROVIDERS", "rates.providers"),
    ("GATEWAY_EGRESS__DENIED_PORTS", "egress.denied_ports"),
];

/// The names that were given, and the settings that follow; or why none do.
pub(super) struct Reading {
    pub given: Given,
    pub config: Result<Config, String>,
}

impl Reading {
    /// Reads defaults, `$GATEWAY_CONFIG` and the folder `$GATEWAY_SECRETS_DIR` if set, and the
    /// environment. `profile` overrides the one that is set.
    ///
    /// # Errors
    /// If the file is missing or no TOML, or the folder has a secret that cannot be used.
    pub fn of_this_process(profile: Option<Profile>) -> Result<Self, ConfigError> {
        let variables: Map<String, String> = variables().collect();
        let read = |name: &str| variables.get(name).filter(|value| !value.is_empty()).cloned();
        let unreadable = |error| ConfigError::Unreadable(words(&error));
        let mut builder = config::Config::builder().add_source(text(DEFAULTS));
        let mut file: Option<(PathBuf, Map<String, Value>)> = None;
        if let Some(path) = read("GATEWAY_CONFIG") {
            let source = config::File::new(&path, FileFormat::Toml);
            file = Some((path.into(), source.collect().map_err(unreadable)?));
            builder = builder.add_source(source);
        }
        let secrets = match read("GATEWAY_SECRETS_DIR") {
            Some(folder) => SecretFiles::read(Path::new(&folder))?,
            None => SecretFiles::default(),
        };
        let config = add(add(builder, secrets.values()), &variables)
            .set_override_option("database_url", read("DATABASE_URL"))
            .and_then(|builder| builder.set_override_option("amqp_url", read("AMQP_URL")))
            .and_then(|builder| {
                builder.set_override_option("profile", profile.map(|profile| profile.to_string()))
            })
            .and_then(Builder::build)
            .and_then(config::Config::try_deserialize)
            .map_err(|error| words(&error));
        let file = file.as_ref().map(|(path, table)| (path.clone(), table));
        let given = Given::new(file, variables.into_iter()).with_secrets(&secrets);
        Ok(Self { given, config })
    }

    /// Reads the defaults and `toml`, and nothing else.
    pub fn of_text(toml: &str) -> Result<Self, ConfigError> {
        let unreadable = |error| ConfigError::Unreadable(words(&error));
        let table = text(toml).collect().map_err(unreadable)?;
        let config = config::Config::builder()
            .add_source(text(DEFAULTS))
            .add_source(text(toml))
            .build()
            .and_then(config::Config::try_deserialize)
            .map_err(|error| words(&error));
        let file = Some((PathBuf::from("the text"), &table));
        Ok(Self { given: Given::new(file, std::iter::empty()), config })
    }

    /// The settings, if `part` of them is usable and every given name exists.
    pub fn checked(self, part: Part) -> Result<Config, ConfigError> {
        let mut faults = self.given.unknown();
        match self.config {
            Ok(config) => {
                faults.extend(check::faults(&config, part));
                if config.profile == Profile::Production && matches!(part, Part::Whole | Part::Rows)
                {
                    faults.extend(exposed_secrets(&self.given, &config));
                }
                if faults.is_empty() { Ok(config) } else { Err(ConfigError::Unusable(faults)) }
            }
            Err(fault) => {
                faults.push(fault);
                Err(ConfigError::Unusable(faults))
            }
        }
    }
}

/// The fault of a settings file that holds a secret and is open to other users.
pub(super) fn exposed_secrets(given: &Given, config: &Config) -> Option<String> {
    let mut secrets = table::all(config).filter(|row| row.is_secret && row.value != Shown::Unset);
    secret_files::exposed(secrets.find_map(|row| given.settings_file_of(&row.key))?)
}

/// Adds variables. Texts stay texts, as a password of digits must not become a number; only lists
/// are split.
fn add(builder: Builder, variables: &Map<String, String>) -> Builder {
    let list = |name: &str| variables.get(name).filter(|value| !value.is_empty()).cloned();
    let lists = LISTS.iter().filter_map(|(name, _)| Some(((*name).to_owned(), list(name)?)));
    let split = LISTS
        .iter()
        .fold(environment().try_parsing(true).list_separator(","), |environment, (_, key)| {
            environment.with_list_parse_key(key)
        });
    builder
        .add_source(environment().source(Some(variables.clone())))
        .add_source(split.source(Some(lists.collect())))
}

impl Config {
    pub(super) fn defaults() -> Self {
        let read = config::Config::builder().add_source(text(DEFAULTS)).build();
        read.and_then(config::Config::try_deserialize).expect("the defaults are settings")
    }
}

fn text(toml: &str) -> config::File<config::FileSourceString, FileFormat> {
    config::File::from_str(toml, FileFormat::Toml)
}

fn environment() -> config::Environment {
    config::Environment::with_prefix("GATEWAY")
        .prefix_separator("_")
        .separator("__")
        .ignore_empty(true)
}

fn variables() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// A sentence about the setting that cannot be read. The library's own would quote the value, and
/// of a file the whole line.
fn words(error: &config::ConfigError) -> String {
    match placed(error) {
        (Some(key), _) if is_secret(&key) => {
            format!("{key} cannot be read: it must be a text, or in the file a list of texts")
        }
        (Some(key), text) => format!("{key}: {text}"),
        (None, text) => text,
    }
}

fn placed(error: &config::ConfigError) -> (Option<String>, String) {
    use config::ConfigError as Fault;
    match error {
        Fault::At { error, key, .. } => {
            let (inner, text) = placed(error);
            (key.clone().or(inner), text)
        }
        Fault::Type { expected, key, .. } => (key.clone(), format!("must be {expected}")),
        Fault::Message(text) => (None, without_value(text)),
        Fault::FileParse { uri, cause } => {
            let text = cause.to_string();
            let own = text.lines().filter(|line| !line.contains('|')).map(str::trim);
            (uri.clone(), own.collect::<Vec<_>>().join(": "))
        }
        Fault::Frozen | Fault::NotFound(_) | Fault::PathParse { .. } | Fault::Foreign(_) => {
            (None, error.to_string())
        }
        _ => (None, error.to_string()),
    }
}

/// Of "invalid type: string "…", expected a map" only the end, of other texts those in which no
/// value can stand.
fn without_value(text: &str) -> String {
    if ["unknown field ", "missing field "].iter().any(|start| text.starts_with(start)) {
        return text.to_owned();
    }
    if let Some((_, expected)) = text.rsplit_once(", expected ") {
        return format!("must be {expected}");
    }
    // Of an address of a socket or of a network.
    let is_of_syntax = text.starts_with("invalid ") && text.ends_with(" syntax");
    if is_of_syntax && text.chars().all(|c| c.is_ascii_lowercase() || "IP ".contains(c)) {
        return text.to_owned();
    }
    if text.contains("does not have variant constructor") {
        return "is none of the words that it may be (src/config/default.toml)".to_owned();
    }
    "has a value that it cannot have".to_owned()
}

/// True for a setting of a secret type; `key` may name a member of a list.
fn is_secret(key: &str) -> bool {
    let key = key.split('[').next().unwrap_or(key);
    table::all(&Config::defaults()).any(|row| row.key == key && row.is_secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(toml: &str) -> String {
        Config::from_toml(toml).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn what_cannot_be_read_is_named_and_its_value_is_not_told() {
        for (toml, named) in [
            ("database_connections_max = \"hunter2\"", "database_connections_max"),
            ("amqp_url = [\"hunter2\"]", "amqp_url"),
            ("chains.tron.witnesses = \"https://hunter2\"", "chains.tron.witnesses"),
            ("chains.tron.witness_headers = \"hunter2\"", "chains.tron.witness_headers"),
            ("broker = \"http://hunter2\"", "broker: must be"),
            ("mail.security = \"hunter2\"", "mail.security"),
            ("profile = \"hunter2\"", "profile"),
            ("rates.providers = [\"hunter2\"]", "rates.providers"),
            ("chains.tron.source = \"hunter2\"", "chains.tron.source"),
            ("api.listen = \"hunter2\"", "api.listen"),
            ("api.trusted_proxies = [\"hunter2\"]", "api.trusted_proxies"),
            ("rates.kraken_url = \"hunter2\"", "rates.kraken_url"),
            (
                "x402.networks = [\"hunter2\"]",
                "a network on which programs cannot pay; they can on",
            ),
            ("x402.minimum_usd.polygon = \"hunter2\"", "x402.minimum_usd.polygon is no amount"),
            ("x402.minimum_usd_default = \"hunter2\"", "x402.minimum_usd_default is no amount"),
            (
                "payouts.networks = [\"hunter2\"]",
                "names a network without payouts; there are payouts on",
            ),
            ("broker.prefix = \"hunter2 \"", "GATEWAY_BROKER__PREFIX: the broker prefix must be"),
            ("master_key = hunter2", "line 1"),
            ("master_key = \"hunter2", "line 1"),
        ] {
            let said = fault(toml);
            assert!(said.contains(named), "{toml}: {said}");
            assert!(!said.contains("hunter2"), "{toml}: {said}");
        }
    }
}
