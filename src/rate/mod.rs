//! Prices of coins in fiat currencies, requested from several providers and cross-checked.
//!
//! A provider reports its quotes ([`Batch`]); the [`Stack`] compares providers with one another and
//! with the last price, and reports every refused price with the reason. Nothing here stores a
//! price or reads a clock: the time comes from the caller, which has it from the database. A price
//! is parsed from the exact text that was sent and is never a float.

mod binance;
mod choose;
mod coinbase;
mod coingecko;
mod config;
mod fixed;
mod kraken;
mod price;
mod rest;
mod stack;
mod symbol;
mod web;

use std::{future::Future, time::Duration};

use chrono::{DateTime, Utc};
use rust_decimal::Decimal;
use thiserror::Error;

pub use self::{
    binance::Binance,
    coinbase::Coinbase,
    coingecko::CoinGecko,
    config::{ProviderName, RateConfig},
    fixed::{Fixed, covers},
    kraken::Kraken,
    stack::{Last, Limits, Outcome, Stack},
    web::Web,
};
use crate::{asset::Fiat, egress::EgressError};

/// A coin, priced in a fiat currency.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Pair {
    symbol: String,
    fiat: Fiat,
}

impl Pair {
    /// `symbol` in any case, as the catalogue writes it (`ETH`, `USDC.e`).
    pub fn new(symbol: &str, fiat: Fiat) -> Self {
        Self { symbol: symbol.to_ascii_uppercase(), fiat }
    }

    /// In upper case.
    pub fn symbol(&self) -> &str {
        &self.symbol
    }

    pub const fn fiat(&self) -> Fiat {
        self.fiat
    }
}

impl std::fmt::Display for Pair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.symbol, self.fiat.code_upper())
    }
}

/// Price of one whole coin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Quote {
    pub pair: Pair,
    /// Units of the fiat currency for one coin; positive.
    pub price: Decimal,
    /// The provider's name.
    pub source: &'static str,
    /// Time at which the provider observed the price. Most providers do not report it.
    pub observed: Option<DateTime<Utc>>,
}

/// Reason why a price was refused.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum Reason {
    #[error("no provider has a price")]
    NoSource,
    #[error("the price is not a number")]
    NotANumber,
    #[error("the price is zero or negative")]
    NotPositive,
    #[error("the price is outside the plausible range")]
    Absurd,
    #[error("the price has too few digits to be inverted")]
    TooCoarse,
    #[error("bid {bid} and ask {ask} are crossed or too far apart")]
    Spread { bid: Decimal, ask: Decimal },
    #[error("the price is from {observed}")]
    Stale { observed: DateTime<Utc> },
    #[error("a coin pegged to one unit is at {price}")]
    OffPeg { price: Decimal },
    #[error("the providers disagree, from {low} to {high}")]
    Disagree { low: Decimal, high: Decimal },
    #[error("the price moved from {last} to {price} according to one provider alone")]
    Jump { last: Decimal, price: Decimal },
}

/// A refused price; `source` is missing if no single provider is at fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    pub pair: Pair,
    pub source: Option<&'static str>,
    pub reason: Reason,
}

/// Response of a provider. A pair that is in neither list is one that the provider does not have.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    pub quotes: Vec<Quote>,
    pub refused: Vec<Refused>,
}

impl Batch {
    fn add(
        &mut self,
        source: &'static str,
        pair: &Pair,
        price: Result<Decimal, Reason>,
        observed: Option<DateTime<Utc>>,
    ) {
        let pair = pair.clone();
        match price {
            Ok(price) => self.quotes.push(Quote { pair, price, source, observed }),
            Err(reason) => self.refused.push(Refused { pair, source: Some(source), reason }),
        }
    }
}

/// Reason why a provider gave no usable response at all.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum RateError {
    #[error(transparent)]
    Unreachable(#[from] EgressError),
    #[error("did not answer in time")]
    TimedOut,
    #[error("refuses requests with a rate limit")]
    SlowDown { retry_after: Option<Duration> },
    #[error("answered with status {0}")]
    Status(u16),
    #[error("sent an answer that cannot be parsed: {0}")]
    Malformed(&'static str),
    #[error("is paused after failures")]
    Resting,
}

/// A source of prices.
pub trait RateProvider: Send + Sync {
    /// Stored with every price and shown to operators.
    fn name(&self) -> &'static str;

    /// Returns prices of those pairs that the provider has.
    fn quotes(&self, pairs: &[Pair]) -> impl Future<Output = Result<Batch, RateError>> + Send;
}

/// The providers that can be configured.
pub enum Provider {
    Kraken(Kraken),
    Coinbase(Coinbase),
    Binance(Binance),
    CoinGecko(CoinGecko),
    Fixed(Fixed),
}

impl RateProvider for Provider {
    fn name(&self) -> &'static str {
        match self {
            Self::Kraken(provider) => provider.name(),
            Self::Coinbase(provider) => provider.name(),
            Self::Binance(provider) => provider.name(),
            Self::CoinGecko(provider) => provider.name(),
            Self::Fixed(provider) => provider.name(),
        }
    }

    async fn quotes(&self, pairs: &[Pair]) -> Result<Batch, RateError> {
        match self {
            Self::Kraken(provider) => provider.quotes(pairs).await,
            Self::Coinbase(provider) => provider.quotes(pairs).await,
            Self::Binance(provider) => provider.quotes(pairs).await,
            Self::CoinGecko(provider) => provider.quotes(pairs).await,
            Self::Fixed(provider) => provider.quotes(pairs).await,
        }
    }
}
