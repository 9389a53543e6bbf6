//! Kraken: real markets in dollars and euros, all of them in one response.

use http::HeaderMap;
use rust_decimal::Decimal;
use serde_json::Value;

use super::{Batch, Pair, RateError, RateProvider, Reason, price, symbol, web::Web};
use crate::asset::Fiat;

/// `GET /0/public/Ticker`. Requested without a list of pairs, because one unknown pair fails the
/// whole call.
pub struct Kraken {
    web: Web,
}

impl Kraken {
    pub fn new(web: Web) -> Self {
        Self { web }
    }
}

impl RateProvider for Kraken {
    fn name(&self) -> &'static str {
        "kraken"
    }

    async fn quotes(&self, pairs: &[Pair]) -> Result<Batch, RateError> {
        let answer = self.web.get("/0/public/Ticker", &[], HeaderMap::new()).await?;
        let faults =
            answer["error"].as_array().ok_or(RateError::Malformed("it has no error list"))?;
        if faults.iter().filter_map(Value::as_str).any(is_rate_limit) {
            return Err(RateError::SlowDown { retry_after: None });
        }
        let markets = answer["result"].as_object().filter(|_| faults.is_empty());
        let markets = markets.ok_or(RateError::Malformed("it reports an error"))?;
        let mut batch = Batch::default();
        for pair in pairs {
            let market = keys(pair).find_map(|key| markets.get(&key));
            if let Some(market) = market {
                batch.add(self.name(), pair, middle(market), None);
            }
        }
        Ok(batch)
    }
}

fn is_rate_limit(fault: &str) -> bool {
    fault.contains("Rate limit") || fault.contains("Too many requests")
}

/// `a` and `b` are lists of price, whole lot volume and lot volume.
fn middle(market: &Value) -> Result<Decimal, Reason> {
    price::middle(&market["b"][0], &market["a"][0])
}

/// Names under which Kraken may list a pair. Its first coins carry class prefixes and tickers of
/// their own, and the long forms are spelled out one by one: a general rule would take `XTZUSD` for
/// a coin called `XT`.
fn keys(pair: &Pair) -> impl Iterator<Item = String> {
    let fiat = pair.fiat();
    symbol::names(pair.symbol()).flat_map(move |name| {
        let bases: &[&str] = match name {
            "BTC" => &["XXBTZ", "XBT"],
            "DOGE" => &["XDG", "XXDGZ", "DOGE"],
            "ETH" => &["XETHZ", "ETH"],
            "LTC" => &["XLTCZ", "LTC"],
            "USDT" => &["USDTZ", "USDT"],
            _ => &[],
        };
        let own = bases.is_empty().then_some(name);
        bases
            .iter()
            .copied()
            .chain(own)
            .map(move |base| market_name(base, fiat))
            .collect::<Vec<_>>()
    })
}

fn market_name(base: &str, fiat: Fiat) -> String {
    format!("{base}{}", fiat.code_upper())
}
