use std::time::Duration;

use thiserror::Error;

/// Why a connection to the broker is of no more use. Every variant means: drop it and build another.
#[derive(Debug, Error)]
pub enum BrokerError {
    #[error("the broker's address cannot be used: {reason}")]
    Address { reason: String },
    #[error("the broker did not answer within {} ms while {doing}", limit.as_millis())]
    TimedOut { doing: &'static str, limit: Duration },
    /// The topology was never applied, or the broker lost its data; the sweeper puts it back.
    #[error("queue {queue} does not exist; apply the topology first")]
    QueueMissing { queue: String },
    /// The broker is short of memory or disk. Nothing was lost; what was sent may be stored twice.
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
