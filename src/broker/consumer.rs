//! Reads one work queue.
//!
//! The rules for a worker: commit first, then acknowledge; reject only what can never be work (it goes to the dead
//! letters); hold nothing for long. What is dropped unanswered comes again when the channel ends.

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

/// A connection that reads one queue.
pub struct Consumer {
    queue: String,
    link: Link,
    channel: Channel,
    /// Its own channel, because asking about a queue that is gone closes the channel that asked.
    probe: Channel,
    deliveries: lapin::Consumer,
    cancelled: bool,
}

/// One message, to be answered once.
#[derive(Debug)]
pub struct Message {
    pub body: Vec<u8>,
    /// It was delivered before, perhaps to a worker that died. A hint for logs, never for logic.
    pub redelivered: bool,
    acker: Acker,
}

impl Consumer {
    /// At most `prefetch` messages are unanswered at a time; it is also what bounds memory.
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

    /// The next message, however long that takes (a dead connection is noticed by its heartbeat); `None` once
    /// [`Consumer::cancel`] was called and nothing is left. Dropping the future loses nothing.
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

    /// Messages that wait for a reader. A watchdog compares it with what arrives: a queue that is not empty while
    /// nothing comes means a consumer that the broker forgot.
    pub async fn ready(&self) -> Result<u32, BrokerError> {
        ready_count(&self.probe, &self.queue).await
    }

    /// Stops new deliveries. What was fetched ahead still comes out of [`Consumer::next`], and messages already taken
    /// can still be answered; [`Consumer::close`] returns all that was not.
    pub async fn cancel(&mut self) -> Result<(), BrokerError> {
        self.cancelled = true;
        let cancel =
            self.channel.basic_cancel(self.deliveries.tag(), BasicCancelOptions::default());
        within(CALL_LIMIT, "cancelling the consumer", cancel).await
    }

    /// Gives every unanswered message back to the queue.
    pub async fn close(self) -> Result<(), BrokerError> {
        let close = self.channel.close(200, "done".into());
        within(CALL_LIMIT, "closing the channel", close).await?;
        self.link.close().await
    }
}

impl Message {
    /// The work is done and committed.
    pub async fn ack(self) -> Result<(), BrokerError> {
        let answer = self.acker.ack(BasicAckOptions::default());
        answered(within(CALL_LIMIT, "acknowledging", answer).await?)
    }

    /// No try will ever help: to the dead letters.
    pub async fn reject(self) -> Result<(), BrokerError> {
        self.nack(false).await
    }

    /// Not now: back to its queue. The broker counts these, and dead-letters what comes back too often.
    pub async fn requeue(self) -> Result<(), BrokerError> {
        self.nack(true).await
    }

    async fn nack(self, requeue: bool) -> Result<(), BrokerError> {
        let answer = self.acker.nack(BasicNackOptions { requeue, ..Default::default() });
        answered(within(CALL_LIMIT, "rejecting", answer).await?)
    }
}

/// On a channel that is gone the call succeeds and says `false`.
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
