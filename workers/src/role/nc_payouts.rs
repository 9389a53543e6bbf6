//! Follows the transactions that merchants signed. A part of the chain-watcher role, which already
//! talks to nodes: it needs no key, and rows hold the due times, so any number of copies share the
//! work.

use std::time::Duration;

use futures_util::{StreamExt, stream};

use crate::{
    Agent,
    contain::contained,
    patience::{pause, with_causes},
};

const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Longer than a look at a slow node, shorter than the lease.
const FOLLOW_LIMIT: Duration = Duration::from_secs(45);
const AT_ONCE: usize = 8;
const CLAIM_MAX: i64 = 16;
const PART: &str = "chain-watcher.nc-payouts";

pub async fn run(agent: &Agent) {
    while !agent.stop.is_cancelled() {
        let mut found = 0;
        match agent.gateway.due_nc_payouts(CLAIM_MAX).await {
            Ok(due) => {
                agent.readiness.set(PART, true);
                found = due.len();
                let following = due.into_iter().map(|id| follow(agent, id));
                stream::iter(following).for_each_concurrent(AT_ONCE, |one| one).await;
            }
            Err(error) => {
                agent.readiness.set(PART, false);
                tracing::warn!(error = with_causes(&error), "due payouts cannot be read");
            }
        }
        if found == 0 {
            pause(&agent.stop, LOOK_EVERY).await;
        }
    }
}

async fn follow(agent: &Agent, id: uuid::Uuid) {
    let following =
        tokio::time::timeout(FOLLOW_LIMIT, Box::pin(agent.gateway.follow_nc_payout(id)));
    // A node's answer about one payout must not stop the others; its lease ends like any.
    let Some(followed) = contained(&agent.gateway, PART, following).await else { return };
    match followed {
        Ok(Ok(())) => {}
        // It is due again when its lease ends.
        Ok(Err(error)) => {
            let error = with_causes(&error);
            tracing::warn!(payout.id = %id, error, "a non-custodial payout waits");
        }
        Err(_) => tracing::warn!(payout.id = %id, "checking a payout timed out"),
    }
}
