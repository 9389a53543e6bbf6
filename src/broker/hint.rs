//! Invoice hints for the chain-watcher, on a queue of its own that exists as long as its
//! connection.
//!
//! A hint only means "look now instead of at the next poll". No worker waits for one, and losing
//! all of them is harmless, so the queue is small, transient, and drops its oldest.

use futures_util::StreamExt;
use lapin::{
    Channel,
    options::{
        BasicAckOptions, BasicConsumeOptions, BasicQosOptions, QueueBindOptions,
        QueueDeclareOptions,
    },
    types::{AMQPValue, FieldTable, ShortString},
};
use secrecy::SecretString;
use uuid::Uuid;

use super::{
    BrokerError,
    envelope::{self, InvoiceRef},
    link::{CALL_LIMIT, Link, within},
    route::Route,
    topology::Topology,
};

const PREFETCH: u16 = 100;
const ROUTES: [Route; 2] = [Route::InvoiceCreated, Route::InvoiceResolved];

/// Receives hints of invoices that were created or got an address.
pub struct HintListener {
    queue: String,
    _link: Link,
    hints: lapin::Consumer,
}

impl HintListener {
    pub async fn open(url: &SecretString, topology: &Topology) -> Result<Self, BrokerError> {
        let queue = format!("{}{}", topology.hint_queue_prefix(), Uuid::now_v7());
        let link = Link::open(url, &queue).await?;
        let channel = link.channel().await?;
        declare(&channel, topology, &queue).await?;
        let limit = channel.basic_qos(PREFETCH, BasicQosOptions::default());
        within(CALL_LIMIT, "limiting unanswered messages", limit).await?;
        let consuming = channel.basic_consume(
            ShortString::from(queue.as_str()),
            ShortString::default(),
            BasicConsumeOptions { exclusive: true, ..Default::default() },
            FieldTable::default(),
        );
        let hints = within(CALL_LIMIT, "starting to consume", consuming).await?;
        Ok(Self { queue, _link: link, hints })
    }

    /// Returns the next hint and waits for it without a limit. A body that is not a hint is
    /// dropped, which loses nothing.
    pub async fn next(&mut self) -> Result<InvoiceRef, BrokerError> {
        loop {
            let delivery = match self.hints.next().await {
                Some(Ok(delivery)) => delivery,
                Some(Err(source)) => {
                    return Err(BrokerError::Failed { doing: "listening", source });
                }
                None => return Err(BrokerError::ConsumerEnded { queue: self.queue.clone() }),
            };
            let answer = delivery.acker.ack(BasicAckOptions::default());
            if !within(CALL_LIMIT, "acknowledging", answer).await? {
                return Err(BrokerError::AnswerLost);
            }
            if let Ok(hint) = envelope::decode(&delivery.data) {
                return Ok(hint);
            }
        }
    }
}

async fn declare(channel: &Channel, topology: &Topology, queue: &str) -> Result<(), BrokerError> {
    let mut arguments = FieldTable::default();
    // Explicit, because a virtual host may default to quorum queues, which cannot be exclusive.
    arguments.insert("x-queue-type".into(), AMQPValue::LongString("classic".into()));
    let most = i64::from(Topology::hint_messages_max());
    arguments.insert("x-max-length".into(), AMQPValue::LongLongInt(most));
    arguments.insert("x-overflow".into(), AMQPValue::LongString("drop-head".into()));
    let options = QueueDeclareOptions { exclusive: true, auto_delete: true, ..Default::default() };
    let declaring = channel.queue_declare(ShortString::from(queue), options, arguments);
    within(CALL_LIMIT, "declaring the hint queue", declaring).await?;
    for route in ROUTES {
        let address = topology.address(route);
        let binding = channel.queue_bind(
            ShortString::from(queue),
            address.exchange.into(),
            address.key.into(),
            QueueBindOptions::default(),
            FieldTable::default(),
        );
        within(CALL_LIMIT, "binding the hint queue", binding).await?;
    }
    Ok(())
}
