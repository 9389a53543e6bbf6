//! All providers called concurrently, and their quotes compared.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex as StdMutex, PoisonError},
    time::Duration,
};

use chrono::{DateTime, Utc};
use futures_util::future::join_all;
use rust_decimal::Decimal;
use tokio::{
    sync::Mutex,
    time::{Instant, timeout},
};

use super::{
    Batch, Pair, Quote, RateError, RateProvider, Reason, Refused,
    choose::{choose, is_fresh, watched_peg},
    rest::Rest,
};

/// Rules for accepting a price.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time limit of one provider in total.
    pub provider_deadline: Duration,
    /// Maximum age of a price, for providers that report its time.
    pub age_s_max: i64,
    /// Maximum deviation between providers.
    pub disagree_bps: u32,
    /// Maximum move of the last price by a single provider; as much again for each hour of that
    /// price's age.
    pub jump_bps: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            provider_deadline: Duration::from_secs(8),
            age_s_max: 300,
            disagree_bps: 200,
            jump_bps: 1_000,
        }
    }
}

/// The stored price of a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Last {
    pub price: Decimal,
    pub observed_at: DateTime<Utc>,
}

/// Result of one refresh. Every requested pair is in `quotes`, or in `refused` without a source.
#[derive(Debug, Default)]
pub struct Outcome {
    /// At most one for each pair, safe to sell at.
    pub quotes: Vec<Quote>,
    /// Single prices that were refused (with their source) and pairs that have no price now
    /// (without).
    pub refused: Vec<Refused>,
    /// Providers without a usable response.
    pub failed: Vec<(&'static str, RateError)>,
}

struct Slot<P> {
    provider: P,
    rest: StdMutex<Rest>,
}

struct Flight {
    ended: Instant,
    pairs: Vec<Pair>,
    outcome: Arc<Outcome>,
}

/// Providers in order of preference.
pub struct Stack<P> {
    slots: Vec<Slot<P>>,
    limits: Limits,
    flight: Mutex<Option<Flight>>,
}

impl<P: RateProvider> Stack<P> {
    pub fn new(providers: Vec<P>, limits: Limits) -> Self {
        let slots =
            providers.into_iter().map(|provider| Slot { provider, rest: StdMutex::default() });
        Self { slots: slots.collect(), limits, flight: Mutex::new(None) }
    }

    /// Asks all providers that are not in backoff and decides on each pair.
    ///
    /// `last` are the stored prices and `now` is the database's time. Callers that ask for the same
    /// pairs during a refresh share its outcome.
    pub async fn refresh(
        &self,
        pairs: &[Pair],
        last: &HashMap<Pair, Last>,
        now: DateTime<Utc>,
    ) -> Arc<Outcome> {
        let asked = Instant::now();
        let mut flight = self.flight.lock().await;
        if let Some(shared) = flight.as_ref().filter(|f| f.ended > asked && f.pairs == pairs) {
            return shared.outcome.clone();
        }
        let outcome = Arc::new(self.fetch(pairs, last, now).await);
        let shared = outcome.clone();
        *flight = Some(Flight { ended: Instant::now(), pairs: pairs.to_vec(), outcome: shared });
        outcome
    }

    async fn fetch(
        &self,
        pairs: &[Pair],
        last: &HashMap<Pair, Last>,
        now: DateTime<Utc>,
    ) -> Outcome {
        let answers = join_all(self.slots.iter().map(|slot| self.ask(slot, pairs))).await;
        let mut outcome = Outcome::default();
        let mut heard: HashMap<&Pair, Vec<Quote>> = HashMap::new();
        let wanted: HashSet<&Pair> = pairs.iter().collect();
        for (slot, answer) in self.slots.iter().zip(answers) {
            let batch = match answer {
                Ok(batch) => batch,
                Err(error) => {
                    outcome.failed.push((slot.provider.name(), error));
                    continue;
                }
            };
            outcome.refused.extend(batch.refused);
            for quote in batch.quotes {
                let Some(pair) = wanted.get(&quote.pair) else { continue };
                match quote.observed.filter(|_| !is_fresh(&quote, now, &self.limits)) {
                    Some(observed) => outcome.refused.push(Refused {
                        pair: quote.pair,
                        source: Some(quote.source),
                        reason: Reason::Stale { observed },
                    }),
                    None => heard.entry(pair).or_default().push(quote),
                }
            }
        }
        let decide = |pair: &Pair| {
            let quotes = heard.get(pair).map_or(&[][..], Vec::as_slice);
            choose(quotes, last.get(pair), now, &self.limits)
        };
        for pair in pairs {
            match decide(pair).and_then(|quote| with_its_peg(quote, decide)) {
                Ok(quote) => outcome.quotes.push(quote),
                Err(reason) => {
                    outcome.refused.push(Refused { pair: pair.clone(), source: None, reason });
                }
            }
        }
        outcome
    }

    async fn ask(&self, slot: &Slot<P>, pairs: &[Pair]) -> Result<Batch, RateError> {
        // No code panics while it holds this lock, and a stale record would do no harm.
        let rest = || slot.rest.lock().unwrap_or_else(PoisonError::into_inner);
        if !rest().is_over(Instant::now()) {
            return Err(RateError::Resting);
        }
        let answer = timeout(self.limits.provider_deadline, slot.provider.quotes(pairs)).await;
        let answer = answer.unwrap_or(Err(RateError::TimedOut));
        match &answer {
            Ok(_) => rest().succeeded(),
            Err(RateError::SlowDown { retry_after }) => {
                rest().failed(Instant::now(), *retry_after);
            }
            Err(_) => rest().failed(Instant::now(), None),
        }
        answer
    }
}

/// A coin that lost its peg is not sold in any other currency either.
fn with_its_peg(
    quote: Quote,
    decide: impl Fn(&Pair) -> Result<Quote, Reason>,
) -> Result<Quote, Reason> {
    let peg = watched_peg(&quote.pair).map(|fiat| decide(&Pair::new(quote.pair.symbol(), fiat)));
    match peg {
        Some(Err(reason @ Reason::OffPeg { .. })) => Err(reason),
        Some(_) | None => Ok(quote),
    }
}
