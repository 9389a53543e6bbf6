//! Binance: the deepest markets, but in dollar stablecoins instead of dollars.

use std::collections::HashMap;

use http::HeaderMap;
use rust_decimal::{Decimal, dec};
use serde_json::Value;

use super::{Batch, Pair, RateError, RateProvider, Reason, price, symbol, web::Web};
use crate::asset::Fiat;

/// Maximum deviation between the two dollar coins; beyond it neither counts as a dollar.
const DOLLAR_COINS_APART_MAX: Decimal = dec!(0.01);

/// `GET /api/v3/ticker/bookTicker`. Requested without a list of symbols, because one unknown symbol
/// fails the whole call.
pub struct Binance {
    web: Web,
}

impl Binance {
    pub fn new(web: Web) -> Self {
        Self { web }
    }
}

impl RateProvider for Binance {
    fn name(&self) -> &'static str {
        "binance"
    }

    async fn quotes(&self, pairs: &[Pair]) -> Result<Batch, RateError> {
        let answer = self.web.get("/api/v3/ticker/bookTicker", &[], HeaderMap::new()).await?;
        let list = answer.as_array().ok_or(RateError::Malformed("it is not a list"))?;
        let markets = Markets(
            list.iter().filter_map(|m| m["symbol"].as_str().map(|name| (name, m))).collect(),
        );
        if markets.0.is_empty() {
            return Err(RateError::Malformed("it has no markets"));
        }
        let apart = markets.dollar_coins_apart();
        let mut batch = Batch::default();
        for pair in pairs {
            let found =
                symbol::names(pair.symbol()).find_map(|name| markets.find(name, pair.fiat()));
            match (found, &apart) {
                (None, _) => {}
                (Some(_), Some(reason)) => batch.add(self.name(), pair, Err(reason.clone()), None),
                (Some(price), None) => batch.add(self.name(), pair, price, None),
            }
        }
        Ok(batch)
    }
}

struct Markets<'a>(HashMap<&'a str, &'a Value>);

type Found = Option<Result<Decimal, Reason>>;

impl Markets<'_> {
    fn market(&self, base: &str, quote: &str) -> Found {
        let market = self.0.get(format!("{base}{quote}").as_str())?;
        Some(price::middle(&market["bidPrice"], &market["askPrice"]))
    }

    /// Reason why dollar coins cannot stand for dollars now. Without their market no price is
    /// given.
    fn dollar_coins_apart(&self) -> Option<Reason> {
        match self.market("USDC", "USDT") {
            Some(Ok(price)) if price::within(price, Decimal::ONE, DOLLAR_COINS_APART_MAX) => None,
            Some(Ok(price)) => Some(Reason::OffPeg { price }),
            Some(Err(reason)) => Some(reason),
            None => Some(Reason::NoSource),
        }
    }

    fn find(&self, name: &str, fiat: Fiat) -> Found {
        match fiat {
            // The dollar coins themselves would be compared with themselves.
            Fiat::Usd if matches!(name, "USDT" | "USDC") => None,
            Fiat::Usd => self.in_dollars(name),
            Fiat::Eur | Fiat::Gbp => self
                .market(name, fiat.code_upper())
                .filter(Result::is_ok)
                .or_else(|| self.through_dollars(name, fiat)),
        }
    }

    fn in_dollars(&self, name: &str) -> Found {
        if name == "USDT" {
            return Some(Ok(Decimal::ONE));
        }
        let direct = self.market(name, "USDC").filter(Result::is_ok);
        direct.or_else(|| self.market(name, "USDT"))
    }

    fn through_dollars(&self, name: &str, fiat: Fiat) -> Found {
        let (coin, money) = (self.in_dollars(name)?, self.market(fiat.code_upper(), "USDT")?);
        Some(coin.and_then(|coin| money.and_then(|money| price::checked(coin / money))))
    }
}
