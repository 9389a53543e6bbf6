//! Pays out: the only role that opens the hot wallet.

use std::{sync::Arc, time::Duration};

use gateway::{
    app::{
        Gateway,
        payout::{AdvanceError, Wallet},
    },
    broker::{
        envelope::{self, PayoutRef},
        route::WorkQueue,
    },
    storage::StorageError,
};

use crate::{
    Agent,
    consume::{Answer, Handler, Work, consume},
    patience::{pause, with_causes},
};

const PREFETCH: u16 = 10;
const OPEN_AGAIN: Duration = Duration::from_secs(30);
/// Far below the age beyond which a recorded fee is too old to price with.
const NOTE_EVERY: Duration = Duration::from_secs(15);
const PART: &str = "payout-batch.wallet";

struct PayoutBatch {
    gateway: Arc<Gateway>,
    wallet: Wallet,
}

impl Handler for PayoutBatch {
    async fn handle(&self, body: &[u8]) -> Result<Answer, StorageError> {
        let message: PayoutRef = match envelope::decode(body) {
            Ok(message) => message,
            Err(error) => {
                tracing::warn!(%error, "a payout message cannot be read");
                return Ok(Answer::Reject);
            }
        };
        match self.gateway.advance_payout(message.order_id, &self.wallet).await {
            Ok(()) => Ok(Answer::Ack),
            Err(AdvanceError::UnknownOrder) => Ok(Answer::Reject),
            Err(AdvanceError::Storage(error)) => Err(error),
            // The order's timer fires again.
            Err(error) => {
                let error = with_causes(&error);
                tracing::warn!(order.id = %message.order_id, error, "a payout waits");
                Ok(Answer::Ack)
            }
        }
    }
}

pub async fn run(agent: &Agent) {
    let Some(wallet) = open_wallet(agent).await else { return };
    let queue = agent.gateway.topology.work_queue(WorkQueue::Payout);
    let handler = Arc::new(PayoutBatch { gateway: agent.gateway.clone(), wallet });
    let work = Work { queue, prefetch: PREFETCH };
    tokio::join!(consume(agent, &work, handler), note_fees(agent));
}

/// Records current payment fees for quotes. An unavailable node only makes quotes wait.
async fn note_fees(agent: &Agent) {
    let networks = agent.gateway.paying_networks();
    if let Some(address) = agent.gateway.gas_address().filter(|_| !networks.is_empty()) {
        tracing::info!(address, "gas wallet");
    }
    while !networks.is_empty() && !agent.stop.is_cancelled() {
        for network in &networks {
            if let Err(error) = agent.gateway.note_network_fee(*network).await {
                let error = with_causes(&error);
                tracing::warn!(%network, error, "the network fee is not known");
            }
        }
        pause(&agent.stop, NOTE_EVERY).await;
    }
}

/// Without payouts there is no wallet to open; a wrong seed file needs an operator, and the role
/// waits.
async fn open_wallet(agent: &Agent) -> Option<Wallet> {
    while !agent.stop.is_cancelled() {
        if !agent.gateway.config.payouts_enabled() {
            agent.readiness.set(PART, true);
            agent.stop.cancelled().await;
            return None;
        }
        match Wallet::open(&agent.gateway) {
            Ok(wallet) => {
                agent.readiness.set(PART, true);
                return Some(wallet);
            }
            Err(error) => {
                agent.readiness.set(PART, false);
                tracing::error!(%error, "the wallet cannot be opened");
                pause(&agent.stop, OPEN_AGAIN).await;
            }
        }
    }
    None
}
