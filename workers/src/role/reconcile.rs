//! Compares balances on chain with the rows, a few addresses of each network a minute.

use std::time::Duration;

use gateway::asset::Network;

use crate::{
    Agent,
    patience::{pause, with_causes},
};

const EVERY: Duration = Duration::from_secs(60);
/// Of one network; the others must have their turn.
const LIMIT: Duration = Duration::from_secs(30);

/// Never ends by itself: whoever holds the lock ends it.
pub async fn run(agent: &Agent) {
    while !agent.stop.is_cancelled() {
        // First the pause: a stack that just starts has its nodes busy enough.
        pause(&agent.stop, EVERY).await;
        for network in Network::ALL {
            if agent.stop.is_cancelled() {
                break;
            }
            compare(agent, network).await;
        }
    }
    std::future::pending().await
}

async fn compare(agent: &Agent, network: Network) {
    match tokio::time::timeout(LIMIT, agent.gateway.reconcile(network)).await {
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
