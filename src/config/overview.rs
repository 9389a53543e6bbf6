//! All settings with their origins, for people.

use super::{Config, ConfigError, given::Origin, reading::Reading, table::Row, value::Shown};
use crate::asset::Network;

/// A setting as it takes effect.
pub struct Setting {
    /// The name in the file, such as `api.listen`; the environment has `GATEWAY_API__LISTEN`.
    pub key: String,
    pub value: Shown,
    /// Its value is secret, if it has one.
    pub is_secret: bool,
    pub origin: Origin,
}

/// The settings that this process would run with.
pub struct Overview {
    pub settings: Vec<Setting>,
    /// A sentence for each given name that is no setting; no program starts with one.
    pub unknown: Vec<String>,
}

impl Overview {
    /// Reads the settings of this process, usable or not.
    ///
    /// # Errors
    /// If the file or a value cannot be read.
    pub fn read() -> Result<Self, ConfigError> {
        let Reading { given, config } = Reading::of_this_process(None)?;
        let mut unknown = given.unknown();
        match config {
            Ok(config) => {
                let settings = rows(&config, |key| given.origin(key));
                Ok(Self { settings, unknown })
            }
            Err(fault) => {
                unknown.push(fault);
                Err(ConfigError::Unusable(unknown))
            }
        }
    }
}

/// All settings; of a network without a node only its source and the given ones, as nothing else
/// has an effect.
fn rows(config: &Config, origin: impl Fn(&str) -> Origin) -> Vec<Setting> {
    let told = |Row { key, value, is_secret }| {
        let origin = origin(&key);
        Setting { key, value, is_secret, origin }
    };
    let mut settings: Vec<_> = config.rows().into_iter().map(told).collect();
    for network in Network::ALL {
        let source = format!("chains.{network}.source");
        let has_node = config.has_node(network);
        let rows = config.chain_rows(network).into_iter().map(told);
        settings.extend(rows.filter(|setting| {
            has_node || setting.key == source || setting.origin != Origin::Default
        }));
    }
    settings
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;

    use super::*;

    fn shown(config: &Config, key: &str) -> Option<Shown> {
        let settings = rows(config, |_| Origin::Default);
        settings.into_iter().find(|setting| setting.key == key).map(|setting| setting.value)
    }

    #[test]
    fn a_network_with_a_node_is_shown_as_it_takes_effect_and_another_by_its_source() {
        let mut config = Config::defaults();
        let node = "source = \"node\"\nrpc_url = \"https://hunter2\"\nconfirmations = 7";
        let tron: crate::config::chains::ChainOverride = config::Config::builder()
            .add_source(config::File::from_str(node, config::FileFormat::Toml))
            .build()
            .and_then(config::Config::try_deserialize)
            .unwrap();
        config.chains.insert("tron".to_owned(), tron);
        config.master_key = SecretString::from("hunter2");
        for (key, expected) in [
            ("chains.tron.source", Some(Shown::Plain("node".into()))),
            ("chains.tron.confirmations", Some(Shown::Plain(7.into()))),
            ("chains.tron.poll_ms", Some(Shown::Plain(3_000.into()))),
            ("chains.tron.rpc_url", Some(Shown::Secret)),
            ("chains.tron.witnesses", Some(Shown::Unset)),
            ("chains.near.source", Some(Shown::Plain("simulated".into()))),
            ("chains.near.poll_ms", None),
            ("master_key", Some(Shown::Secret)),
            ("payouts.enabled", Some(Shown::Plain(true.into()))),
            ("rates.providers", Some(Shown::Plain(vec!["fixed"].into()))),
        ] {
            assert_eq!(shown(&config, key), expected, "{key}");
        }
    }
}
