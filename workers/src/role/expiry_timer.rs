//! Fires due timers, decides their deadlines, and reminds of renewals.

use std::{sync::Arc, time::Duration};

use gateway::{
    app::{Gateway, invoice::expire::ExpireError},
    broker::{
        envelope::{self, InvoiceRef},
        route::WorkQueue,
    },
    storage::StorageError,
};

use tokio::sync::Semaphore;
use uuid::Uuid;

use crate::{
    Agent,
    batch::Batcher,
    consume::{Answer, Handler, Work, consume},
    patience::{pause, with_causes},
};

const PREFETCH: u16 = 400;
const BATCH_MAX: usize = 200;
/// Invoices decided concurrently that need a transaction each. One may wait for a lock while it
/// holds a connection that others need.
const ALONE_MAX: usize = 4;
const RING_EVERY: Duration = Duration::from_millis(250);
const RING_LIMIT: Duration = Duration::from_secs(20);
const PART: &str = "expiry-timer.ring";
const REMIND_EVERY: Duration = Duration::from_millis(500);
const REMINDERS: &str = "expiry-timer.remind";

struct ExpiryTimer {
    gateway: Arc<Gateway>,
    quiet: Batcher<Uuid, ()>,
    alone: Semaphore,
}

impl ExpiryTimer {
    fn new(gateway: Arc<Gateway>) -> Self {
        let deciding = gateway.clone();
        let quiet = Batcher::start(BATCH_MAX, move |ids: Vec<Uuid>| {
            let gateway = deciding.clone();
            async move {
                let decided = gateway.expire_quiet(&ids).await?;
                let outcome = |id| decided.contains(id).then_some(());
                Ok::<_, StorageError>(ids.iter().map(outcome).collect())
            }
        });
        Self { gateway, quiet, alone: Semaphore::new(ALONE_MAX) }
    }
}

impl Handler for ExpiryTimer {
    async fn handle(&self, body: &[u8]) -> Result<Answer, StorageError> {
        let message: InvoiceRef = match envelope::decode(body) {
            Ok(message) => message,
            Err(error) => {
                tracing::warn!(%error, "an expiry message cannot be read");
                return Ok(Answer::Reject);
            }
        };
        if self.quiet.outcome(message.invoice_id).await.is_some() {
            return Ok(Answer::Ack);
        }
        let _turn = self.alone.acquire().await;
        match self.gateway.expire_invoice(message.invoice_id).await {
            Ok(verdict) => {
                tracing::debug!(invoice.id = %message.invoice_id, ?verdict, "a deadline was processed");
                Ok(Answer::Ack)
            }
            Err(ExpireError::UnknownInvoice) => Ok(Answer::Reject),
            Err(ExpireError::Storage(error)) => Err(error),
        }
    }
}

pub async fn run(agent: &Agent) {
    let queue = agent.gateway.topology.work_queue(WorkQueue::Expiry);
    let work = Work { queue, prefetch: PREFETCH };
    let handler = Arc::new(ExpiryTimer::new(agent.gateway.clone()));
    tokio::join!(consume(agent, &work, handler), ring(agent), remind(agent));
}

/// Any number of copies may run: each due timer is taken by one.
async fn ring(agent: &Agent) {
    while !agent.stop.is_cancelled() {
        let rung = tokio::time::timeout(RING_LIMIT, agent.gateway.ring_timers()).await;
        match rung.unwrap_or(Err(StorageError::TimedOut)) {
            Ok(more) => {
                agent.readiness.set(PART, true);
                if more {
                    continue;
                }
            }
            Err(error) => {
                agent.readiness.set(PART, false);
                tracing::warn!(error = with_causes(&error), "due timers could not be claimed");
                pause(&agent.stop, Duration::from_secs(1)).await;
            }
        }
        pause(&agent.stop, RING_EVERY).await;
    }
}

/// Reminders of renewals, by rows alone: nothing of them waits in the broker before it is due.
async fn remind(agent: &Agent) {
    while !agent.stop.is_cancelled() {
        let told = tokio::time::timeout(RING_LIMIT, agent.gateway.remind_subscribers()).await;
        match told.unwrap_or(Err(StorageError::TimedOut)) {
            Ok(more) => {
                agent.readiness.set(REMINDERS, true);
                if more {
                    continue;
                }
            }
            Err(error) => {
                agent.readiness.set(REMINDERS, false);
                tracing::warn!(error = with_causes(&error), "due renewals could not be decided");
                pause(&agent.stop, Duration::from_secs(1)).await;
            }
        }
        pause(&agent.stop, REMIND_EVERY).await;
    }
}
