//! Sweep: repairs the broker's topology, and finds work whose message was lost. One process sweeps,
//! the others are on standby.

use std::time::Duration;

use gateway::{
    app::messaging::sweep::{SweepMemory, Swept},
    broker::management::Management,
    retry::ReconnectDelay,
    storage::locks::SessionLock,
};

use super::reconcile;
use crate::{
    Agent,
    patience::{pause, with_causes},
};

const SWEEP_EVERY: Duration = Duration::from_secs(15);
const SWEEP_LIMIT: Duration = Duration::from_secs(60);
const PART: &str = "sweeper";

pub async fn run(agent: &Agent) {
    let broker = &agent.gateway.config.broker;
    let management = broker.management_url.as_ref().and_then(|url| {
        let made = Management::new(url, &broker.vhost);
        made.inspect_err(|error| tracing::error!(%error, "the broker cannot be managed")).ok()
    });
    if management.is_none() {
        tracing::warn!("without a management address the sweeper cannot repair the topology");
    }
    let mut delay = ReconnectDelay::new();
    while !agent.stop.is_cancelled() {
        let wait = match SessionLock::try_take(&agent.gateway.db, "sweeper").await {
            Ok(Some(lock)) => {
                tokio::select! {
                    () = sweep(agent, management.as_ref(), lock, &mut delay) => {}
                    // Under the same lock, and at its own pace: a slow node must not delay the
                    // sweep.
                    () = reconcile::run(agent) => {}
                }
                delay.next()
            }
            Ok(None) => {
                agent.readiness.set(PART, true);
                SWEEP_EVERY
            }
            Err(error) => {
                agent.readiness.set(PART, false);
                tracing::warn!(
                    error = with_causes(&error),
                    "the sweeper's lock could not be requested"
                );
                delay.next()
            }
        };
        pause(&agent.stop, wait).await;
    }
}

/// Sweeps until the lock is lost. A sweep that failed is made again soon: a server that restarts is
/// back within seconds.
async fn sweep(
    agent: &Agent,
    management: Option<&Management>,
    mut lock: SessionLock,
    delay: &mut ReconnectDelay,
) {
    let mut memory = SweepMemory::default();
    while !agent.stop.is_cancelled() && lock.is_held().await {
        let sweep = agent.gateway.sweep(management, &mut memory);
        let wait = match tokio::time::timeout(SWEEP_LIMIT, sweep).await {
            Ok(Ok(swept)) => {
                delay.reset();
                agent.readiness.set(PART, true);
                if swept != (Swept { forgotten: swept.forgotten, ..Swept::default() }) {
                    tracing::warn!(?swept, "the sweep found lost work");
                }
                SWEEP_EVERY
            }
            Ok(Err(error)) => {
                agent.readiness.set(PART, false);
                tracing::warn!(error = with_causes(&error), "the sweep failed");
                memory.forget_missing();
                delay.next()
            }
            Err(_) => {
                tracing::warn!("the sweep took too long");
                SWEEP_EVERY
            }
        };
        pause(&agent.stop, wait).await;
    }
    lock.release().await;
}
