//! Coinbase: the amount of every asset that one unit of a fiat currency buys, one response per
//! currency.

use std::collections::HashMap;

use futures_util::future::try_join_all;
use http::HeaderMap;
use serde_json::{Map, Value};

use super::{Batch, Pair, RateError, RateProvider, price, symbol, web::Web};
use crate::asset::Fiat;

/// `GET /v2/exchange-rates?currency=`. Its crosses between fiat currencies are not used: they have
/// too few digits.
pub struct Coinbase {
    web: Web,
}

impl Coinbase {
    pub fn new(web: Web) -> Self {
        Self { web }
    }

    async fn rates(&self, fiat: Fiat) -> Result<(Fiat, Map<String, Value>), RateError> {
        let query = [("currency", fiat.code_upper())];
        let mut answer = self.web.get("/v2/exchange-rates", &query, HeaderMap::new()).await?;
        if answer["data"]["currency"] != fiat.code_upper() {
            return Err(RateError::Malformed("it is about another currency"));
        }
        match answer["data"]["rates"].take() {
            Value::Object(rates) => Ok((fiat, rates)),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Err(RateError::Malformed("it has no rates")),
        }
    }
}

impl RateProvider for Coinbase {
    fn name(&self) -> &'static str {
        "coinbase"
    }

    async fn quotes(&self, pairs: &[Pair]) -> Result<Batch, RateError> {
        let wanted = Fiat::ALL.into_iter().filter(|fiat| pairs.iter().any(|p| p.fiat() == *fiat));
        let rates = try_join_all(wanted.map(|fiat| self.rates(fiat))).await?;
        let rates: HashMap<_, _> = rates.into_iter().collect();
        let mut batch = Batch::default();
        for pair in pairs {
            let Some(coins) = rates.get(&pair.fiat()) else { continue };
            if let Some(coins) = symbol::names(pair.symbol()).find_map(|name| coins.get(name)) {
                batch.add(self.name(), pair, price::inverted(coins), None);
            }
        }
        Ok(batch)
    }
}
