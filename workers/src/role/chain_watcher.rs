//! Follows every enabled network, and the payouts that merchants signed there. One watcher per
//! network is active, the others are on standby.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use gateway::{
    app::deposit::follow_chain::{Follower, follower_of},
    asset::Network,
    broker::hint::HintListener,
    chain::{Agreement, Source},
    retry::ReconnectDelay,
    storage::locks::SessionLock,
    telemetry::trace::{Kind, Span},
};
use tokio::{sync::Notify, task::JoinSet};

use super::nc_payouts;
use crate::{
    Agent,
    contain::contained,
    patience::{pause, with_causes},
};

const STAND_BY: Duration = Duration::from_secs(2);
/// Limit of one look, including catching up; a slower node counts as unavailable.
const LOOK_LIMIT: Duration = Duration::from_secs(120);
const CHECK_LOCK_EVERY: Duration = Duration::from_secs(5);

pub async fn run(agent: &Agent) {
    let hint = Arc::new(Notify::new());
    let mut watchers = JoinSet::new();
    for network in Network::ALL {
        let settings = agent.gateway.config.chain(network);
        match follower_of(&agent.gateway, settings) {
            Ok(None) => {}
            Ok(Some(_)) => {
                let (agent, hint) = (agent.clone(), hint.clone());
                watchers.spawn(async move { watch(&agent, network, &hint).await });
            }
            Err(error) => tracing::error!(%network, %error, "the network cannot be followed"),
        }
    }
    let listening = listen(agent, &hint);
    // A look's panic is contained (`contain`). Any other is a fault of this file and ends the
    // process, as one of this task would.
    let watching = async {
        while let Some(ended) = watchers.join_next().await {
            if let Some(panic) = ended.err().and_then(|error| error.try_into_panic().ok()) {
                std::panic::resume_unwind(panic);
            }
        }
    };
    tokio::join!(listening, watching, nc_payouts::run(agent));
}

/// New invoices are a reason to look sooner. Without the broker the poll goes on.
async fn listen(agent: &Agent, hint: &Notify) {
    let mut delay = ReconnectDelay::new();
    while !agent.stop.is_cancelled() {
        let listening = async {
            let url = &agent.gateway.config.amqp_url;
            let mut listener = HintListener::open(url, &agent.gateway.topology).await?;
            delay.reset();
            loop {
                listener.next().await?;
                hint.notify_waiters();
            }
        };
        let ended: Result<(), gateway::broker::BrokerError> = tokio::select! {
            ended = listening => ended,
            () = agent.stop.cancelled() => return,
        };
        if let Err(error) = ended {
            tracing::debug!(
                error = with_causes(&error),
                "hints are unavailable; polling continues"
            );
        }
        pause(&agent.stop, delay.next()).await;
    }
}

/// Takes the network's lock and follows it for as long as the lock is held.
async fn watch(agent: &Agent, network: Network, hint: &Notify) {
    let mut delay = ReconnectDelay::new();
    let name = format!("chain-watcher:{network}");
    while !agent.stop.is_cancelled() {
        let lock = match SessionLock::try_take(&agent.gateway.db, &name).await {
            Ok(Some(lock)) => lock,
            Ok(None) => {
                pause(&agent.stop, STAND_BY).await;
                continue;
            }
            Err(error) => {
                tracing::warn!(%network, error = with_causes(&error), "the lock could not be requested");
                pause(&agent.stop, delay.next()).await;
                continue;
            }
        };
        let settings = agent.gateway.config.chain(network);
        // A new follower, because another process may have written meanwhile: the state is read
        // from the database.
        if let Ok(Some(follower)) = follower_of(&agent.gateway, settings) {
            follow(agent, follower, lock, hint, &mut delay).await;
        }
    }
}

async fn follow(
    agent: &Agent,
    mut follower: Follower<Agreement<Source>>,
    mut lock: SessionLock,
    hint: &Notify,
    delay: &mut ReconnectDelay,
) {
    let network = follower.settings().network;
    let poll = follower.settings().poll;
    let part = format!("chain-watcher.{network}");
    let mut checked = Instant::now();
    while !agent.stop.is_cancelled() {
        if checked.elapsed() >= CHECK_LOCK_EVERY {
            if !lock.is_held().await {
                tracing::warn!(%network, "the watcher lost its lock");
                return;
            }
            checked = Instant::now();
        }
        let hinted = hint.notified();
        let read_before = follower.blocks_read();
        let span = Span::begin(format!("look at {network}"), Kind::Internal, None);
        let look = Box::pin(follower.look(&agent.gateway));
        let look = tokio::time::timeout(LOOK_LIMIT, look);
        let Some(look) = span.scope(contained(&agent.gateway, &part, look)).await else {
            // The content of the follower's memory and of its transaction is unknown: another one
            // begins from the rows.
            agent.readiness.set(&part, false);
            lock.release().await;
            pause(&agent.stop, delay.next()).await;
            return;
        };
        // A look that found nothing, the usual case, is not logged.
        if let Ok(Ok(found)) = &look
            && (found.sightings > 0 || found.finalized > 0)
        {
            span.end(vec![
                ("gateway.blocks", found.blocks.to_string()),
                ("gateway.sightings", found.sightings.to_string()),
                ("gateway.finalized", found.finalized.to_string()),
            ]);
        }
        match look {
            Ok(Ok(look)) => {
                agent.readiness.set(&part, true);
                delay.reset();
                if look.blocks > 0 || look.rewound > 0 {
                    tracing::info!(
                        %network, blocks = look.blocks, rewound = look.rewound,
                        sightings = look.sightings, finalized = look.finalized, "looked"
                    );
                }
                if look.complete {
                    let _ = tokio::time::timeout(poll, async {
                        tokio::select! { () = hinted => {}, () = agent.stop.cancelled() => {} }
                    })
                    .await;
                } else if look.blocks == 0 {
                    pause(&agent.stop, poll).await;
                }
            }
            Ok(Err(error)) => {
                agent.readiness.set(&part, false);
                tracing::warn!(%network, error = with_causes(&error), "reading the chain failed");
                // Occasional failures must not make catching up to the chain tip slower and slower.
                if follower.blocks_read() > read_before {
                    delay.reset();
                }
                pause(&agent.stop, delay.next()).await;
            }
            Err(_) => {
                agent.readiness.set(&part, false);
                tracing::warn!(%network, "reading the chain timed out");
            }
        }
    }
    lock.release().await;
}
