//! Seals the ledger as it grows, and verifies all of it once a day.

use std::time::Duration;

use gateway::storage::StorageError;

use crate::{
    Agent,
    patience::{pause, with_causes},
};

const SEAL_EVERY: Duration = Duration::from_secs(60);
const HOURS_BETWEEN: i64 = 24;

/// Never ends by itself: the holder of the lock ends it.
pub async fn run(agent: &Agent) {
    while !agent.stop.is_cancelled() {
        if let Err(error) = seal(agent).await {
            tracing::warn!(error = with_causes(&error), "the ledger was not sealed");
        }
        if let Err(error) = verify(agent).await {
            tracing::warn!(error = with_causes(&error), "the ledger was not verified");
        }
        pause(&agent.stop, SEAL_EVERY).await;
    }
    std::future::pending().await
}

async fn seal(agent: &Agent) -> Result<(), StorageError> {
    while !agent.stop.is_cancelled() && agent.gateway.seal_ledger().await? > 0 {}
    Ok(())
}

async fn verify(agent: &Agent) -> Result<(), StorageError> {
    let last = agent.gateway.hours_since_verification().await?;
    if last.is_some_and(|hours| hours < HOURS_BETWEEN) {
        return Ok(());
    }
    let verdict = agent.gateway.verify_ledger(None).await?;
    if verdict.faults > 0 {
        let (faults, first) = (verdict.faults, verdict.told.first());
        tracing::error!(faults, first, "the ledger is faulty; run gatewayctl ledger verify");
    }
    Ok(())
}
