//! Delivers mass-payout webhooks, in two lanes as payment IPNs are.

use std::sync::Arc;

use gateway::{
    app::{
        Gateway,
        deliver_ipn::{DeliverError, InFlight, Lane},
    },
    broker::{
        envelope::{self, DeliveryRef},
        route::WorkQueue,
    },
    storage::StorageError,
};

use crate::{
    Agent,
    consume::{Answer, Handler, Work, consume},
};

const PREFETCH_FAST: u16 = 200;
const PREFETCH_SLOW: u16 = 50;

struct PayoutWebhookDelivery {
    gateway: Arc<Gateway>,
    lane: Lane,
    in_flight: InFlight,
}

impl Handler for PayoutWebhookDelivery {
    async fn handle(&self, body: &[u8]) -> Result<Answer, StorageError> {
        let message: DeliveryRef = match envelope::decode(body) {
            Ok(message) => message,
            Err(error) => {
                tracing::warn!(%error, "a delivery message cannot be read");
                return Ok(Answer::Reject);
            }
        };
        match self.gateway.deliver_payout_webhook(&message, self.lane, &self.in_flight).await {
            Ok(_) => Ok(Answer::Ack),
            Err(DeliverError::Storage(error)) => Err(error),
            Err(error) => {
                tracing::error!(%error, delivery.id = ?message.delivery_id, "a delivery cannot be made");
                Ok(Answer::Reject)
            }
        }
    }
}

pub async fn run(agent: &Agent) {
    let lane = |lane, queue, prefetch| {
        let queue = agent.gateway.topology.work_queue(queue);
        let in_flight = InFlight::default();
        let handler = PayoutWebhookDelivery { gateway: agent.gateway.clone(), lane, in_flight };
        (Work { queue, prefetch }, Arc::new(handler))
    };
    let (fast, fast_handler) = lane(Lane::Fast, WorkQueue::PayoutWebhook, PREFETCH_FAST);
    let (slow, slow_handler) = lane(Lane::Slow, WorkQueue::PayoutWebhookSlow, PREFETCH_SLOW);
    tokio::join!(consume(agent, &fast, fast_handler), consume(agent, &slow, slow_handler));
}
