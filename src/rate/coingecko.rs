//! CoinGecko: averages over many exchanges, and the only provider with time stamps.

use chrono::{DateTime, Utc};
use http::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::{Batch, Pair, RateError, RateProvider, price, symbol, web::Web};
use crate::asset::Fiat;

/// CoinGecko's own ids. A token without one takes that of the coin it follows.
const IDS: [(&str, &str); 28] = [
    ("BTC", "bitcoin"),
    ("LTC", "litecoin"),
    ("DOGE", "dogecoin"),
    ("ETH", "ethereum"),
    ("POL", "polygon-ecosystem-token"),
    ("BNB", "binancecoin"),
    ("AVAX", "avalanche-2"),
    ("TRX", "tron"),
    ("SOL", "solana"),
    ("NEAR", "near"),
    ("TON", "the-open-network"),
    ("RUNE", "thorchain"),
    ("USDT", "tether"),
    ("USDC", "usd-coin"),
    ("DAI", "dai"),
    ("PYUSD", "paypal-usd"),
    ("USDS", "usds"),
    ("FDUSD", "first-digital-usd"),
    ("TUSD", "true-usd"),
    ("EURC", "euro-coin"),
    ("WBTC", "wrapped-bitcoin"),
    ("LINK", "chainlink"),
    ("SHIB", "shiba-inu"),
    ("UNI", "uniswap"),
    ("WETH", "weth"),
    ("CBBTC", "coinbase-wrapped-btc"),
    ("ARB", "arbitrum"),
    ("OP", "optimism"),
];

/// `GET /api/v3/simple/price`. In practice it wants a key.
pub struct CoinGecko {
    web: Web,
    key: Option<SecretString>,
}

impl CoinGecko {
    /// The key's header depends on the address: paid keys have a host of their own.
    pub fn new(web: Web, key: Option<SecretString>) -> Self {
        Self { web, key }
    }

    fn headers(&self) -> Result<HeaderMap, RateError> {
        let mut headers = HeaderMap::new();
        if let Some(key) = &self.key {
            let paid = self.web.base().host_str().is_some_and(|host| host.starts_with("pro-"));
            let name = if paid { "x-cg-pro-api-key" } else { "x-cg-demo-api-key" };
            let value = HeaderValue::from_str(key.expose_secret());
            let mut value = value.map_err(|_| RateError::Malformed("the configured key"))?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        Ok(headers)
    }
}

impl RateProvider for CoinGecko {
    fn name(&self) -> &'static str {
        "coingecko"
    }

    async fn quotes(&self, pairs: &[Pair]) -> Result<Batch, RateError> {
        let mut ids: Vec<_> = pairs.iter().filter_map(|pair| id(pair.symbol())).collect();
        ids.sort_unstable();
        ids.dedup();
        if ids.is_empty() {
            return Ok(Batch::default());
        }
        let query = [
            ("ids", ids.join(",")),
            ("vs_currencies", Fiat::ALL.map(Fiat::code).join(",")),
            ("include_last_updated_at", "true".to_owned()),
            ("precision", "full".to_owned()),
        ];
        let query = query.each_ref().map(|(name, value)| (*name, value.as_str()));
        let answer = self.web.get("/api/v3/simple/price", &query, self.headers()?).await?;
        let coins = answer.as_object().ok_or(RateError::Malformed("it is not an object"))?;
        let mut batch = Batch::default();
        for pair in pairs {
            let coin = id(pair.symbol()).and_then(|id| coins.get(id));
            let Some(price) = coin.and_then(|coin| coin.get(pair.fiat().code())) else { continue };
            let observed = coin.and_then(|coin| observed(&coin["last_updated_at"]));
            batch.add(self.name(), pair, price::read(price), observed);
        }
        Ok(batch)
    }
}

fn observed(seconds: &Value) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp(seconds.as_i64()?, 0)
}

fn id(symbol: &str) -> Option<&'static str> {
    symbol::names(symbol)
        .find_map(|name| IDS.into_iter().find(|(known, _)| *known == name))
        .map(|(_, id)| id)
}
