//! Delivers webhooks, payment IPNs or those of mass payouts, in two lanes: endpoints that answer
//! slowly have their own.

use std::{
    collections::{HashMap, HashSet},
    num::NonZeroU16,
    sync::Arc,
};

use gateway::{
    app::{
        Gateway,
        delivery::{AttemptRows, Channel, DeliverError, IPN, InFlight, Lane, PAYOUT, Room},
    },
    broker::{
        envelope::{self, DeliveryRef},
        route::WorkQueue,
    },
    storage::{
        StorageError,
        deferred_deliveries::Deferred,
        deliveries::{AttemptRecord, DueDelivery},
    },
};
use uuid::Uuid;

use crate::{
    Agent,
    batch::Batcher,
    consume::{Answer, Handler, Work, consume},
};

const BATCH_MAX: usize = 200;

/// Rows of the attempts in progress in this process, read and written together.
struct SharedRows {
    gateway: Arc<Gateway>,
    loads: Batcher<Uuid, DueDelivery>,
    records: Batcher<Arc<AttemptRecord>, bool>,
    deferred: Batcher<Deferred, ()>,
    /// Merchants whose endpoint answered slowly: of a thousand that hang, many end together.
    slow: Batcher<Uuid, ()>,
}

impl SharedRows {
    fn new(gateway: &Arc<Gateway>) -> Self {
        Self {
            gateway: gateway.clone(),
            loads: shared(gateway, load),
            records: shared(gateway, record),
            deferred: shared(gateway, defer),
            slow: shared(gateway, note_slow),
        }
    }
}

/// Lets the callers of `work` share it.
fn shared<P, O, F>(
    gateway: &Arc<Gateway>,
    work: impl Fn(Arc<Gateway>, Vec<P>) -> F + Send + 'static,
) -> Batcher<P, O>
where
    P: Clone + Send + 'static,
    O: Send + 'static,
    F: Future<Output = Result<Vec<Option<O>>, StorageError>> + Send,
{
    let gateway = gateway.clone();
    Batcher::start(BATCH_MAX, move |pieces| work(gateway.clone(), pieces))
}

impl AttemptRows for SharedRows {
    async fn load(&self, id: Uuid) -> Result<Option<DueDelivery>, StorageError> {
        match self.loads.outcome(id).await {
            Some(due) => Ok(Some(due)),
            None => self.gateway.load(id).await,
        }
    }

    async fn record(&self, record: Arc<AttemptRecord>) -> Result<bool, StorageError> {
        match self.records.outcome(record.clone()).await {
            Some(recorded) => Ok(recorded),
            None => self.gateway.record(record).await,
        }
    }

    async fn defer(&self, deferred: Deferred) -> Result<(), StorageError> {
        match self.deferred.outcome(deferred).await {
            Some(()) => Ok(()),
            None => self.gateway.defer(deferred).await,
        }
    }

    async fn note_slow(&self, merchant_id: Uuid) -> Result<(), StorageError> {
        match self.slow.outcome(merchant_id).await {
            Some(()) => Ok(()),
            None => self.gateway.note_slow(merchant_id).await,
        }
    }
}

async fn load(
    gateway: Arc<Gateway>,
    ids: Vec<Uuid>,
) -> Result<Vec<Option<DueDelivery>>, StorageError> {
    let due = gateway.load_deliveries(&ids).await?;
    let due: HashMap<_, _> = due.into_iter().map(|due| (due.id, due)).collect();
    Ok(ids.iter().map(|id| due.get(id).cloned()).collect())
}

async fn record(
    gateway: Arc<Gateway>,
    records: Vec<Arc<AttemptRecord>>,
) -> Result<Vec<Option<bool>>, StorageError> {
    // Two copies of one message may meet here; the second is left to its caller, which finds the
    // row changed.
    let mut seen = HashSet::new();
    let first: Vec<_> = records.iter().map(|record| seen.insert(record.delivery_id)).collect();
    let batch: Vec<_> = records.iter().zip(&first).filter(|(_, first)| **first).collect();
    let batch: Vec<_> = batch.into_iter().map(|(record, _)| &**record).collect();
    let recorded = gateway.record_attempts(&batch).await?;
    let outcome = |(record, first): (&Arc<AttemptRecord>, &bool)| {
        first.then(|| recorded.contains(&record.delivery_id))
    };
    Ok(records.iter().zip(&first).map(outcome).collect())
}

async fn defer(
    gateway: Arc<Gateway>,
    deferred: Vec<Deferred>,
) -> Result<Vec<Option<()>>, StorageError> {
    gateway.defer_deliveries(&deferred).await?;
    Ok(vec![Some(()); deferred.len()])
}

async fn note_slow(
    gateway: Arc<Gateway>,
    merchants: Vec<Uuid>,
) -> Result<Vec<Option<()>>, StorageError> {
    gateway.note_slow_answers(&merchants).await?;
    Ok(vec![Some(()); merchants.len()])
}

struct Delivery {
    gateway: Arc<Gateway>,
    channel: &'static Channel,
    rows: Arc<SharedRows>,
    lane: Lane,
    in_flight: InFlight,
}

impl Handler for Delivery {
    async fn handle(&self, body: &[u8]) -> Result<Answer, StorageError> {
        let message: DeliveryRef = match envelope::decode(body) {
            Ok(message) => message,
            Err(error) => {
                tracing::warn!(%error, "a delivery message cannot be read");
                return Ok(Answer::Reject);
            }
        };
        let Self { gateway, channel, rows, lane, in_flight } = self;
        match gateway.deliver(channel, &**rows, &message, *lane, in_flight).await {
            Ok(_) => Ok(Answer::Ack),
            Err(DeliverError::Storage(error)) => Err(error),
            Err(error) => {
                tracing::error!(%error, delivery.id = ?message.delivery_id, "a delivery cannot be made");
                Ok(Answer::Reject)
            }
        }
    }
}

pub async fn run_ipn(agent: &Agent) {
    run(agent, &IPN, WorkQueue::Ipn, WorkQueue::IpnSlow).await;
}

pub async fn run_payout_webhook(agent: &Agent) {
    run(agent, &PAYOUT, WorkQueue::PayoutWebhook, WorkQueue::PayoutWebhookSlow).await;
}

async fn run(agent: &Agent, channel: &'static Channel, fast: WorkQueue, slow: WorkQueue) {
    let rows = Arc::new(SharedRows::new(&agent.gateway));
    let of_lane = |lane, queue, most: NonZeroU16| {
        let (queue, prefetch) = (agent.gateway.topology.work_queue(queue), most.get());
        let in_flight = InFlight::new(most);
        let (gateway, rows) = (agent.gateway.clone(), rows.clone());
        let handler = Delivery { gateway, channel, rows, lane, in_flight };
        (Work { queue, prefetch }, Arc::new(handler))
    };
    let room = Room::of(&agent.gateway.config.worker);
    let (fast, fast_handler) = of_lane(Lane::Fast, fast, room.fast);
    let (slow, slow_handler) = of_lane(Lane::Slow, slow, room.slow);
    tokio::join!(consume(agent, &fast, fast_handler), consume(agent, &slow, slow_handler));
}
