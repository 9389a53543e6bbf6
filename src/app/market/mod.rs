//! The market right now: enabled currencies with their minimums, and the stored rates.
//!
//! Loaded in one go and kept for a second, so that a burst of quotes costs two small queries.

pub mod preview_change;
pub mod quote;
pub mod refresh_rates;
pub mod set_currency;

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use chrono::{DateTime, Utc};
use rust_decimal::Decimal;
use tokio::sync::Mutex;

use super::Gateway;
use crate::{
    asset::{
        Family, Network,
        catalogue::{Catalogue, Currency},
        fiat::Fiat,
    },
    config::ChainSourceKind,
    storage::{StorageError, currencies, rates},
};

const KEPT_FOR: Duration = Duration::from_secs(1);

/// A currency that can be paid with today.
#[derive(Debug, Clone)]
pub struct Offer {
    pub currency: &'static Currency,
    /// The catalogue's minimum, or the operator's.
    pub min_usd: Decimal,
}

/// A stored price of one whole coin.
#[derive(Debug, Clone)]
pub struct Rate {
    pub price: Decimal,
    pub source: String,
    pub observed_at: DateTime<Utc>,
    age_when_loaded: Duration,
}

/// No stored rate is young enough to price anything with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no fresh rate")]
pub struct NoFreshRate;

pub struct Market {
    offers: Vec<Offer>,
    /// Enabled currencies of followed networks that are not on sale because no address can be
    /// given.
    unaddressed: Vec<Offer>,
    rates: HashMap<(String, Fiat), Rate>,
    stale_after: Duration,
    loaded: Instant,
}

#[derive(Default)]
pub struct MarketCache(Mutex<Option<Arc<Market>>>);

impl Market {
    pub fn offers(&self) -> &[Offer] {
        &self.offers
    }

    /// Currencies that would be offered if there were an address to give.
    pub fn unaddressed(&self) -> &[Offer] {
        &self.unaddressed
    }

    pub fn offer(&self, token_id: &str) -> Option<&Offer> {
        find(&self.offers, Catalogue::get().by_token_id(token_id))
    }

    /// The currency of `token_id`, if nothing but an address is missing to offer it.
    pub fn offer_unaddressed(&self, token_id: &str) -> Option<&Offer> {
        find(&self.unaddressed, Catalogue::get().by_token_id(token_id))
    }

    /// The offer a client names; disabled currencies are as unknown as misspelt ones.
    pub fn resolve(&self, pay_currency: &str, network: Option<&str>) -> Option<&Offer> {
        find(&self.offers, Catalogue::get().resolve(pay_currency, network))
    }

    /// The currency that a client names, if nothing but an address is missing to offer it.
    pub fn resolve_unaddressed(&self, pay_currency: &str, network: Option<&str>) -> Option<&Offer> {
        find(&self.unaddressed, Catalogue::get().resolve(pay_currency, network))
    }

    /// A rate that may price an invoice.
    pub fn fresh_rate(&self, symbol: &str, fiat: Fiat) -> Result<&Rate, NoFreshRate> {
        let rate = self.last_rate(symbol, fiat).ok_or(NoFreshRate)?;
        let age = rate.age_when_loaded + self.loaded.elapsed();
        if age <= self.stale_after { Ok(rate) } else { Err(NoFreshRate) }
    }

    /// The last stored rate, however old.
    pub fn last_rate(&self, symbol: &str, fiat: Fiat) -> Option<&Rate> {
        self.rates.get(&(symbol.to_ascii_uppercase(), fiat))
    }
}

fn find<'a>(offers: &'a [Offer], currency: Option<&'static Currency>) -> Option<&'a Offer> {
    let currency = currency?;
    offers.iter().find(|offer| std::ptr::eq(offer.currency, currency))
}

impl Gateway {
    /// The market as of at most a second ago.
    pub async fn market(&self) -> Result<Arc<Market>, StorageError> {
        let mut cached = self.market.0.lock().await;
        if let Some(market) = cached.as_ref().filter(|market| market.loaded.elapsed() < KEPT_FOR) {
            return Ok(market.clone());
        }
        let market = Arc::new(self.load_market().await?);
        *cached = Some(market.clone());
        Ok(market)
    }

    async fn load_market(&self) -> Result<Market, StorageError> {
        let mut connection = self.db.connection().await?;
        let settings = currencies::all(&mut connection).await?;
        let rows = rates::all(&mut connection).await?;
        let settings: HashMap<_, _> =
            settings.into_iter().map(|setting| (setting.token_id.clone(), setting)).collect();
        let pools = self.usable_pools(&mut connection).await?;
        drop(connection);
        // Without an address for its buyer a currency is not on sale.
        let can_give = |family: Family| {
            if family.has_pool() {
                pools.contains(&family)
            } else {
                self.account_keys.contains_key(&family)
            }
        };
        let on = |network: Network| self.config.chain(network).source != ChainSourceKind::Off;
        let offers = Catalogue::get().all().iter().filter(|currency| on(currency.network));
        let offers = offers.filter_map(|currency| {
            let setting = settings.get(&currency.token_id());
            let enabled = setting.and_then(|s| s.enabled).unwrap_or(currency.enabled_by_default);
            let min_usd = setting.and_then(|s| s.min_usd).unwrap_or(currency.min_usd);
            enabled.then_some(Offer { currency, min_usd })
        });
        let (offers, unaddressed) = offers.partition(|offer| can_give(offer.currency.family()));
        let rates = rows.into_iter().filter_map(|row| {
            let rate = Rate {
                price: row.price,
                source: row.source,
                observed_at: row.observed_at,
                age_when_loaded: Duration::from_secs(u64::try_from(row.age_seconds).unwrap_or(0)),
            };
            Some(((row.symbol, row.fiat.parse().ok()?), rate))
        });
        let stale_after = u64::from(self.config.rates.stale_s);
        Ok(Market {
            offers,
            unaddressed,
            rates: rates.collect(),
            stale_after: Duration::from_secs(stale_after),
            loaded: Instant::now(),
        })
    }
}
