//! Compares balances on chain with the rows, a few addresses of each network at a time.

use std::time::Duration;

use futures_util::future::join_all;
use gateway::asset::Network;

use crate::{
    Agent,
    contain::contained,
    patience::{pause, with_causes},
};

/// The nodes of a starting stack are busy enough.
const FIRST_AFTER: Duration = Duration::from_secs(60);

/// Each network runs at its own pace: one whose node takes minutes must not delay the others. Never
/// ends by itself: the holder of the lock ends it.
pub async fn run(agent: &Agent) {
    // On the heap: fifteen of these futures in one array do not fit a thread's stack, unoptimised.
    join_all(Network::ALL.map(|network| Box::pin(walk(agent, network)))).await;
    std::future::pending().await
}

async fn walk(agent: &Agent, network: Network) {
    let Some(every) = agent.gateway.reconciled_every(network) else { return };
    pause(&agent.stop, FIRST_AFTER).await;
    while !agent.stop.is_cancelled() {
        compare(agent, network, every / 2).await;
        pause(&agent.stop, every).await;
    }
}

async fn compare(agent: &Agent, network: Network, limit: Duration) {
    let comparing = tokio::time::timeout(limit, Box::pin(agent.gateway.reconcile(network)));
    let part = format!("reconciliation.{network}");
    let Some(compared) = contained(&agent.gateway, &part, comparing).await else { return };
    match compared {
        Ok(Ok(Some(done))) if done.differ > 0 => {
            tracing::warn!(%network, addresses = done.addresses, differ = done.differ, "balances differ");
        }
        Ok(Ok(_)) => {}
        Ok(Err(error)) => {
            tracing::info!(%network, error = with_causes(&error), "balances were not compared");
        }
        Err(_) => tracing::info!(%network, "comparing balances took too long"),
    }
}
