//! Consumer of one work queue.
//!
//! Rules for a worker: commit first, then acknowledge; reject only a message that can never become
//! work (it is dead-lettered); hold no message for long. A delivery left unanswered is redelivered
//! when its channel closes.

use futures_util::StreamExt;
use lapin::{
    Acker, Channel,
    options::{
        BasicAckOptions, BasicCancelOptions, BasicConsumeOptions, BasicNackOptions,
        BasicQosOptions, QueueDeclareOptions,
    },
    types::{FieldTable, ShortString},
};
use secrecy::SecretString;

use super::{
    BrokerError,
    link::{CALL_LIMIT, Link, within},
};

const NOT_FOUND: u16 = 404;

/// Connection that consumes one queue.
pub struct Consumer {
    queue: String,
    link: Link,
    channel: Channel,
    /// Separate channel for passive declares: asking for a queue that does not exist closes the
    /// channel that asked.
    probe: Channel,
    deliveries: lapin::Consumer,
    cancelled: bool,
}

/// One delivery; it must be answered exactly once.
#[derive(Debug)]
pub struct Message {
    pub body: Vec<u8>,
    /// Set if the message was delivered before, perhaps to a worker that crashed. For logs only,
    /// never for logic.
    pub redelivered: bool,
    acker: Acker,
}

impl Consumer {
    /// Opens the consumer. `prefetch` is the maximum of unanswered messages, and so also bounds
    /// memory.
    pub async fn open(url: &SecretString, queue: &str, prefetch: u16) -> Result<Self, BrokerError> {
        let link = Link::open(url, queue).await?;
        let channel = link.channel().await?;
        let probe = link.channel().await?;
        ready_count(&probe, queue).await?;
        let limit = channel.basic_qos(prefetch.max(1), BasicQosOptions::default());
        within(CALL_LIMIT, "limiting unanswered messages", limit).await?;
        let consuming = channel.basic_consume(
            short(queue)?,
            ShortString::default(),
            BasicConsumeOptions::default(),
            FieldTable::default(),
        );
        let deliveries = within(CALL_LIMIT, "starting to consume", consuming).await?;
        Ok(Self { queue: queue.to_owned(), link, channel, probe, deliveries, cancelled: false })
    }

    pub fn queue(&self) -> &str {
        &self.queue
    }

    /// Returns the next message and waits for it without a limit (the heartbeat detects a dead
    /// connection); `None` once [`Consumer::cancel`] was called and no message is left. Dropping
    /// the future loses no message.
    pub async fn next(&mut self) -> Result<Option<Message>, BrokerError> {
        match self.deliveries.next().await {
            Some(Ok(delivery)) => Ok(Some(Message {
                body: delivery.data,
                redelivered: delivery.redelivered,
                acker: delivery.acker,
            })),
            Some(Err(source)) => Err(BrokerError::Failed { doing: "consuming", source }),
            None if self.cancelled => Ok(None),
            None => Err(BrokerError::ConsumerEnded { queue: self.queue.clone() }),
        }
    }

    /// Number of messages ready in the queue. A watchdog compares it with the arrivals: a queue
    /// that is not empty while no message arrives means that the broker has forgotten this
    /// consumer.
    pub async fn ready(&self) -> Result<u32, BrokerError> {
        ready_count(&self.probe, &self.queue).await
    }

    /// Stops new deliveries. Prefetched messages still come out of [`Consumer::next`], and messages
    /// already taken can still be answered; [`Consumer::close`] requeues all unanswered ones.
    pub async fn cancel(&mut self) -> Result<(), BrokerError> {
        self.cancelled = true;
        let cancel =
            self.channel.basic_cancel(self.deliveries.tag(), BasicCancelOptions::default());
        within(CALL_LIMIT, "cancelling the consumer", cancel).await
    }

    /// Closes the channel, which requeues every unanswered message.
    pub async fn close(self) -> Result<(), BrokerError> {
        let close = self.channel.close(200, "done".into());
        within(CALL_LIMIT, "closing the channel", close).await?;
        self.link.close().await
    }
}

impl Message {
    /// Acknowledges: the work is done and committed.
    pub async fn ack(self) -> Result<(), BrokerError> {
        let answer = self.acker.ack(BasicAckOptions::default());
        answered(within(CALL_LIMIT, "acknowledging", answer).await?)
    }

    /// Rejects to the dead letters: no retry can ever succeed.
    pub async fn reject(self) -> Result<(), BrokerError> {
        self.nack(false).await
    }

    /// Returns the message to its queue for a later delivery. The broker counts requeues and
    /// dead-letters a message that exceeds the delivery limit.
    pub async fn requeue(self) -> Result<(), BrokerError> {
        self.nack(true).await
    }

    async fn nack(self, requeue: bool) -> Result<(), BrokerError> {
        let answer = self.acker.nack(BasicNackOptions { requeue, ..Default::default() });
        answered(within(CALL_LIMIT, "rejecting", answer).await?)
    }
}

/// Maps the result of an answer: on a closed channel lapin reports success with `false`.
fn answered(sent: bool) -> Result<(), BrokerError> {
    if sent { Ok(()) } else { Err(BrokerError::AnswerLost) }
}

async fn ready_count(channel: &Channel, queue: &str) -> Result<u32, BrokerError> {
    let passive = QueueDeclareOptions { passive: true, ..Default::default() };
    let declare = channel.queue_declare(short(queue)?, passive, FieldTable::default());
    match within(CALL_LIMIT, "looking for the queue", declare).await {
        Ok(found) => Ok(found.message_count()),
        Err(BrokerError::Failed { source, .. }) if is_not_found(&source) => {
            Err(BrokerError::QueueMissing { queue: queue.to_owned() })
        }
        Err(other) => Err(other),
    }
}

fn is_not_found(error: &lapin::Error) -> bool {
    matches!(error.kind(), lapin::ErrorKind::ProtocolError(said) if said.get_id() == NOT_FOUND)
}

fn short(queue: &str) -> Result<ShortString, BrokerError> {
    ShortString::try_new(queue).map_err(|_| BrokerError::QueueMissing { queue: queue.to_owned() })
}
