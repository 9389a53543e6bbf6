//! Credits final deposits to their invoices.

use std::sync::Arc;

use gateway::{
    app::{Gateway, deposit::credit::MatchError},
    broker::{
        envelope::{self, DepositRef},
        route::WorkQueue,
    },
    storage::StorageError,
};

use crate::{
    Agent,
    consume::{Answer, Handler, Work, consume},
};

const PREFETCH: u16 = 20;

struct DepositMatching(Arc<Gateway>);

impl Handler for DepositMatching {
    async fn handle(&self, body: &[u8]) -> Result<Answer, StorageError> {
        let message: DepositRef = match envelope::decode(body) {
            Ok(message) => message,
            Err(error) => {
                tracing::warn!(%error, "a deposit message cannot be read");
                return Ok(Answer::Reject);
            }
        };
        match self.0.match_deposits(message.deposit_id).await {
            Ok(settled) => {
                let status = settled.status.map(|status| status.as_str());
                let (id, count) = (message.deposit_id, settled.deposits);
                tracing::info!(deposit.id = %id, count, status, "deposits settled");
                Ok(Answer::Ack)
            }
            Err(MatchError::UnknownDeposit) => Ok(Answer::Reject),
            Err(MatchError::Storage(error)) => Err(error),
        }
    }
}

pub async fn run(agent: &Agent) {
    let queue = agent.gateway.topology.work_queue(WorkQueue::Deposit);
    let work = Work { queue, prefetch: PREFETCH };
    consume(agent, &work, Arc::new(DepositMatching(agent.gateway.clone()))).await;
}
