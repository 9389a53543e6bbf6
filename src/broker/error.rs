use std::time::Duration;

use thiserror::Error;

/// Reason why a broker connection is no longer usable. Every variant means: drop it and open a new
/// one.
#[derive(Debug, Error)]
pub enum BrokerError {
    #[error("the broker's address cannot be used: {reason}")]
    Address { reason: String },
    #[error("the broker did not answer within {} ms while {doing}", limit.as_millis())]
    TimedOut { doing: &'static str, limit: Duration },
    /// The topology was never applied, or the broker lost its data; the sweeper restores it.
    #[error("queue {queue} does not exist; apply the topology first")]
    QueueMissing { queue: String },
    /// The broker is short of memory or disk. No message was lost; messages already sent may be
    /// stored twice.
    #[error("the broker takes no messages for now: {reason}")]
    Blocked { reason: String },
    #[error("the broker failed while {doing}")]
    Failed { doing: &'static str, source: lapin::Error },
    #[error("consuming {queue} ended: the queue was deleted or the connection is gone")]
    ConsumerEnded { queue: String },
    /// The channel died between delivery and answer. The broker delivers the message again.
    #[error("the answer to a message was lost with its channel, it will come again")]
    AnswerLost,
    #[error("this publisher failed before; build a new one")]
    Spent,
}
