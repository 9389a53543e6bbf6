//! Carries out the payments of programs (x402): the only role that opens the wallet which pays
//! their gas.
//!
//! A payer waits for his block, so rows are looked at all the time and not when a message comes:
//! one small query for each network. One copy for each network is active, the others are on
//! standby; two at once would only get in each other's way, for rows decide who signs.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use gateway::{
    app::{Gateway, x402::GasWallet},
    asset::Network,
    retry::ReconnectDelay,
    storage::locks::SessionLock,
};
use tokio::task::JoinSet;

use crate::{
    Agent,
    contain::contained,
    patience::{pause, with_causes},
};

const LOOK_EVERY: Duration = Duration::from_millis(100);
const STAND_BY: Duration = Duration::from_secs(2);
const OPEN_AGAIN: Duration = Duration::from_secs(30);
const CHECK_LOCK_EVERY: Duration = Duration::from_secs(5);
const MEASURE_EVERY: Duration = Duration::from_secs(15);
/// Limit of one step; a slower node counts as unavailable.
const STEP_LIMIT: Duration = Duration::from_secs(45);
const PART: &str = "x402-settlement.wallet";

pub async fn run(agent: &Agent) {
    let Some(wallet) = open_wallet(agent).await.map(Arc::new) else { return };
    let mut networks = JoinSet::new();
    for network in agent.gateway.x402_networks() {
        let (agent, wallet) = (agent.clone(), wallet.clone());
        networks.spawn(async move { serve(&agent, network, &wallet).await });
    }
    // A step's panic is contained. Any other is a fault of this file and ends the process.
    while let Some(ended) = networks.join_next().await {
        if let Some(panic) = ended.err().and_then(|error| error.try_into_panic().ok()) {
            std::panic::resume_unwind(panic);
        }
    }
    agent.stop.cancelled().await;
}

/// Takes the network's lock and settles there for as long as the lock is held.
async fn serve(agent: &Agent, network: Network, wallet: &GasWallet) {
    let mut delay = ReconnectDelay::new();
    let name = format!("x402-settlement:{network}");
    while !agent.stop.is_cancelled() {
        match SessionLock::try_take(&agent.gateway.db, &name).await {
            Ok(Some(lock)) => settle(agent, network, wallet, lock, &mut delay).await,
            Ok(None) => pause(&agent.stop, STAND_BY).await,
            Err(error) => {
                tracing::warn!(%network, error = with_causes(&error), "the lock could not be requested");
                pause(&agent.stop, delay.next()).await;
            }
        }
    }
}

async fn settle(
    agent: &Agent,
    network: Network,
    wallet: &GasWallet,
    mut lock: SessionLock,
    delay: &mut ReconnectDelay,
) {
    let part = format!("x402-settlement.{network}");
    let (mut checked, mut measured) = (Instant::now(), None::<Instant>);
    while !agent.stop.is_cancelled() {
        if checked.elapsed() >= CHECK_LOCK_EVERY {
            if !lock.is_held().await {
                tracing::warn!(%network, "the lock of a network's settlements is lost");
                return;
            }
            checked = Instant::now();
        }
        if measured.is_none_or(|at| at.elapsed() >= MEASURE_EVERY) {
            measure(&agent.gateway, network, wallet).await;
            measured = Some(Instant::now());
        }
        let step =
            tokio::time::timeout(STEP_LIMIT, Box::pin(agent.gateway.step_x402(network, wallet)));
        let Some(stepped) = contained(&agent.gateway, &part, step).await else {
            pause(&agent.stop, delay.next()).await;
            continue;
        };
        match stepped {
            Ok(Ok(changed)) => {
                agent.readiness.set(&part, true);
                delay.reset();
                // A change of this step may make the next one due at once.
                if !changed {
                    pause(&agent.stop, LOOK_EVERY).await;
                }
            }
            Ok(Err(error)) => {
                agent.readiness.set(&part, false);
                tracing::warn!(%network, error = with_causes(&error), "settlements wait");
                pause(&agent.stop, delay.next()).await;
            }
            Err(_) => {
                agent.readiness.set(&part, false);
                tracing::warn!(%network, "a step with settlements timed out");
            }
        }
    }
    lock.release().await;
}

async fn measure(gateway: &Gateway, network: Network, wallet: &GasWallet) {
    let measuring = tokio::time::timeout(STEP_LIMIT, gateway.measure_x402(network, wallet));
    if let Ok(Err(error)) = measuring.await {
        tracing::debug!(%network, error = with_causes(&error), "the gas that is left is not known");
    }
}

/// While x402 is off there is no wallet to open; a wrong seed file needs an operator, and the role
/// waits.
async fn open_wallet(agent: &Agent) -> Option<GasWallet> {
    while !agent.stop.is_cancelled() {
        if agent.gateway.x402_networks().is_empty() {
            agent.readiness.set(PART, true);
            agent.stop.cancelled().await;
            return None;
        }
        match GasWallet::open(&agent.gateway) {
            Ok(wallet) => {
                agent.readiness.set(PART, true);
                tracing::info!(address = wallet.address(), "gas wallet of x402");
                return Some(wallet);
            }
            Err(error) => {
                agent.readiness.set(PART, false);
                tracing::error!(%error, "the gas wallet of x402 cannot be opened");
                pause(&agent.stop, OPEN_AGAIN).await;
            }
        }
    }
    None
}
