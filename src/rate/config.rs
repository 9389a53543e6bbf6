//! The configuration section `rate`.

use std::time::Duration;

use secrecy::SecretString;
use serde::Deserialize;
use url::Url;

use super::{Binance, CoinGecko, Coinbase, Fixed, Kraken, Limits, Provider, Stack, Web};
use crate::egress::Egress;

/// A provider, as the configuration names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProviderName {
    Kraken,
    Coinbase,
    Binance,
    CoinGecko,
    /// The sandbox's constant prices; production refuses to start with it.
    Fixed,
}

/// Sources of prices and the rules for accepting them.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RateConfig {
    /// In order of preference. Default: `kraken`, `coinbase`, `binance`; `coingecko` wants a key.
    pub providers: Vec<ProviderName>,
    /// Time between two refreshes. Default: 30 s.
    pub refresh_s: u32,
    /// Oldest price that is used. Default: 300 s.
    pub stale_s: u32,
    /// Time limit of one provider. Default: 8000 ms.
    pub provider_deadline_ms: u32,
    /// Maximum deviation between providers. Default: 200 (2%).
    pub disagree_bps: u32,
    /// Maximum move of the last price by a single provider, and again for each hour of its age.
    /// Default: 1000 (10%).
    pub jump_bps: u32,
    /// Default: `https://api.kraken.com`.
    pub kraken_url: Url,
    /// Default: `https://api.coinbase.com`.
    pub coinbase_url: Url,
    /// Default: `https://api.binance.com`.
    pub binance_url: Url,
    /// Default: `https://api.coingecko.com`; for a paid key `https://pro-api.coingecko.com`.
    pub coingecko_url: Url,
    /// Default: none.
    pub coingecko_key: Option<SecretString>,
}

impl Default for RateConfig {
    fn default() -> Self {
        let url = |text: &str| Url::parse(text).expect("the default addresses are urls");
        Self {
            providers: vec![ProviderName::Kraken, ProviderName::Coinbase, ProviderName::Binance],
            refresh_s: 30,
            stale_s: 300,
            provider_deadline_ms: 8_000,
            disagree_bps: 200,
            jump_bps: 1_000,
            kraken_url: url("https://api.kraken.com"),
            coinbase_url: url("https://api.coinbase.com"),
            binance_url: url("https://api.binance.com"),
            coingecko_url: url("https://api.coingecko.com"),
            coingecko_key: None,
        }
    }
}

impl RateConfig {
    /// The configured providers over `egress`, whose policy must be the operator's.
    pub fn stack(&self, egress: &Egress) -> Stack<Provider> {
        let deadline = Duration::from_millis(self.provider_deadline_ms.into());
        let web = |base: &Url| Web::new(egress.clone(), base.clone(), deadline);
        let provider = |name: &ProviderName| match name {
            ProviderName::Kraken => Provider::Kraken(Kraken::new(web(&self.kraken_url))),
            ProviderName::Coinbase => Provider::Coinbase(Coinbase::new(web(&self.coinbase_url))),
            ProviderName::Binance => Provider::Binance(Binance::new(web(&self.binance_url))),
            ProviderName::CoinGecko => Provider::CoinGecko(CoinGecko::new(
                web(&self.coingecko_url),
                self.coingecko_key.clone(),
            )),
            ProviderName::Fixed => Provider::Fixed(Fixed),
        };
        let limits = Limits {
            provider_deadline: deadline,
            age_s_max: self.stale_s.into(),
            disagree_bps: self.disagree_bps,
            jump_bps: self.jump_bps,
        };
        Stack::new(self.providers.iter().map(provider).collect(), limits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_section_is_read_and_shows_no_secret() {
        let text = r#"{"providers":["fixed","coingecko"],"refresh_s":5,"coingecko_key":"sekret"}"#;
        let config: RateConfig = serde_json::from_str(text).unwrap();
        assert_eq!(config.providers, [ProviderName::Fixed, ProviderName::CoinGecko]);
        assert_eq!((config.refresh_s, config.stale_s), (5, 300));
        assert!(config.coingecko_key.is_some() && !format!("{config:?}").contains("sekret"));
        assert!(serde_json::from_str::<RateConfig>(r#"{"providers":["coinmarketcap"]}"#).is_err());
        assert!(serde_json::from_str::<RateConfig>(r#"{"refresh":5}"#).is_err());
        assert!(serde_json::from_str::<RateConfig>("{}").unwrap().coingecko_key.is_none());
    }
}
