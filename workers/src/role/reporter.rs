//! Makes the monthly reports once their month is over, seals the ledger and verifies it. One
//! process does it, the others are on standby.

use std::time::Duration;

use gateway::storage::locks::SessionLock;

use super::ledger;
use crate::{
    Agent,
    patience::{pause, with_causes},
};

const LOOK_EVERY: Duration = Duration::from_secs(5 * 60);
const LOCK_EVERY: Duration = Duration::from_secs(15);
const BEAT_EVERY: Duration = Duration::from_secs(5);
/// Reports between two looks at the lock.
const BATCH: i64 = 20;
const PART: &str = "reporter";

pub async fn run(agent: &Agent) {
    while !agent.stop.is_cancelled() {
        match SessionLock::try_take(&agent.gateway.db, PART).await {
            Ok(Some(lock)) => tokio::select! {
                () = report(agent, lock) => {}
                // Under the same lock, and at its own pace.
                () = ledger::run(agent) => {}
                () = beat(agent) => {}
            },
            Ok(None) => agent.readiness.set(PART, true),
            Err(error) => {
                agent.readiness.set(PART, false);
                let error = with_causes(&error);
                tracing::warn!(error, "the reporter's lock could not be requested");
            }
        }
        pause(&agent.stop, LOCK_EVERY).await;
    }
}

/// Writes the heartbeat that a replica for exports is measured by. Never ends by itself.
async fn beat(agent: &Agent) {
    while !agent.stop.is_cancelled() {
        match agent.gateway.beat_for_exports().await {
            // No replica is configured, and none will be before the next start.
            Ok(false) => break,
            Ok(true) => {}
            Err(error) => {
                let error = with_causes(&error);
                tracing::warn!(error, "the heartbeat for exports was not written");
            }
        }
        pause(&agent.stop, BEAT_EVERY).await;
    }
    std::future::pending().await
}

async fn report(agent: &Agent, mut lock: SessionLock) {
    while !agent.stop.is_cancelled() && lock.is_held().await {
        let building = agent.gateway.build_due_reports(BATCH);
        let built = tokio::select! {
            built = building => built,
            () = agent.stop.cancelled() => break,
        };
        let every = match built {
            Ok(built) => {
                agent.readiness.set(PART, true);
                if built.made > 0 {
                    tracing::info!(reports = built.made, "monthly reports were made");
                }
                // The next batch at once, unless this one was the last.
                if built.made > 0 && built.failed == 0 { Duration::ZERO } else { LOOK_EVERY }
            }
            Err(error) => {
                agent.readiness.set(PART, false);
                tracing::warn!(error = with_causes(&error), "reports could not be looked for");
                LOCK_EVERY
            }
        };
        pause(&agent.stop, every).await;
    }
    lock.release().await;
}
