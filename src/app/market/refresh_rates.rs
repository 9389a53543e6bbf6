//! Asks the rate providers and stores the accepted rates.

use std::collections::{BTreeSet, HashMap};

use crate::app::Gateway;
use crate::{
    asset::{Catalogue, Fiat},
    rate::{Last, Pair, Provider, Stack},
    storage::{self, StorageError, rates},
};

/// Result of one refresh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refreshed {
    pub stored: usize,
    pub refused: usize,
    pub providers_failed: usize,
}

/// Every pair that can price an invoice: each symbol of the catalogue in each fiat currency.
///
/// Disabled currencies are refreshed too, so that enabling one takes effect at once.
pub fn wanted_pairs() -> Vec<Pair> {
    let symbols: BTreeSet<_> = Catalogue::get().all().iter().map(|c| c.symbol).collect();
    let pairs = symbols.into_iter().flat_map(|symbol| Fiat::ALL.map(|fiat| (symbol, fiat)));
    pairs.map(|(symbol, fiat)| Pair::new(symbol, fiat)).collect()
}

impl Gateway {
    pub async fn refresh_rates(
        &self,
        stack: &Stack<Provider>,
        pairs: &[Pair],
    ) -> Result<Refreshed, StorageError> {
        let mut connection = self.db.connection().await?;
        let now = storage::now(&mut connection).await?;
        let stored = rates::all(&mut connection).await?;
        drop(connection);
        let last: HashMap<_, _> = stored
            .into_iter()
            .filter_map(|row| {
                let pair = Pair::new(&row.symbol, row.fiat.parse().ok()?);
                Some((pair, Last { price: row.price, observed_at: row.observed_at }))
            })
            .collect();
        let outcome = stack.refresh(pairs, &last, now).await;
        for (provider, error) in &outcome.failed {
            tracing::warn!(provider, %error, "a rate provider gave no answer");
            metrics::counter!("rate_provider_failures_total", "provider" => *provider).increment(1);
        }
        let quotes = &outcome.quotes;
        let column = |text: &dyn Fn(&crate::rate::Quote) -> String| -> Vec<String> {
            quotes.iter().map(text).collect()
        };
        let symbols = column(&|quote| quote.pair.symbol().to_owned());
        let fiats = column(&|quote| quote.pair.fiat().code().to_owned());
        let sources = column(&|quote| quote.source.to_owned());
        let prices: Vec<_> = quotes.iter().map(|quote| quote.price).collect();
        let observed: Vec<_> = quotes.iter().map(|quote| quote.observed).collect();
        let mut connection = self.db.connection().await?;
        rates::store(&mut connection, &symbols, &fiats, &prices, &sources, &observed).await?;
        Ok(Refreshed {
            stored: quotes.len(),
            refused: outcome.refused.len(),
            providers_failed: outcome.failed.len(),
        })
    }
}
