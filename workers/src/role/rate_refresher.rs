//! Refreshes the stored rates. Copies do no harm: the newer observation wins.

use std::time::Duration;

use gateway::{
    app::market::refresh_rates::wanted_pairs,
    egress::{Egress, guard::Policy},
    storage::StorageError,
};

use crate::{
    Agent,
    patience::{pause, with_causes},
};

const REFRESH_LIMIT: Duration = Duration::from_secs(60);
const AFTER_FAILURE: Duration = Duration::from_secs(2);
const PART: &str = "rate-refresher";

pub async fn run(agent: &Agent) {
    // Not ready before the first prices are stored: no invoice can be priced until then.
    agent.readiness.set(PART, false);
    let config = &agent.gateway.config.rates;
    let stack = config.stack(&Egress::new(Policy::Operator));
    let pairs = wanted_pairs();
    let every = Duration::from_secs(config.refresh_s.max(1).into());
    while !agent.stop.is_cancelled() {
        let refresh = agent.gateway.refresh_rates(&stack, &pairs);
        let refreshed = tokio::time::timeout(REFRESH_LIMIT, refresh).await;
        match refreshed.unwrap_or(Err(StorageError::TimedOut)) {
            Ok(refreshed) => {
                agent.readiness.set(PART, refreshed.stored > 0);
                tracing::debug!(?refreshed, "rates refreshed");
                pause(&agent.stop, every).await;
            }
            Err(error) => {
                agent.readiness.set(PART, false);
                tracing::warn!(error = with_causes(&error), "rates could not be refreshed");
                pause(&agent.stop, AFTER_FAILURE).await;
            }
        }
    }
}
