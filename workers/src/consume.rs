//! Consumption of one queue, for ever: the part shared by all consuming roles.
//!
//! A message is acknowledged after its outcome is committed, never before. A failure of our own
//! (the database is unavailable) is not the message's fault: it is retried in place, and if that
//! lasts, the consumer is closed and all unanswered messages go back to the queue. A row that
//! cannot be decoded is neither: reading it again gives the same row, so its message goes to the
//! dead letters at once and occupies no slot that other messages need.

use std::{
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::FutureExt;
use gateway::{
    app::Gateway,
    broker::{
        BrokerError,
        consumer::{Consumer, Message},
        envelope,
    },
    retry::ReconnectDelay,
    storage::StorageError,
    telemetry::trace::{Kind, Span},
};
use tokio::task::JoinSet;

use crate::{
    Agent,
    patience::{pause, with_causes},
};

/// Limit of one attempt at one message, including database and network calls.
const HANDLE_LIMIT: Duration = Duration::from_secs(30);
/// Time for which a message is retried in place before it is requeued.
const HOLD_MAX: Duration = Duration::from_secs(40);
/// With messages ready and none arriving for this long, the broker has forgotten this consumer.
const SILENCE_MAX: Duration = Duration::from_secs(60);
const WATCH_EVERY: Duration = Duration::from_secs(15);

/// Answer to the broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Done and committed, or no work needed.
    Ack,
    /// It can never be processed: dead-letter it.
    Reject,
}

/// Processes one message. It may be called twice for the same one, by any process.
pub trait Handler: Send + Sync + 'static {
    fn handle(&self, body: &[u8]) -> impl Future<Output = Result<Answer, StorageError>> + Send;
}

/// A queue and the limit of its messages in progress.
#[derive(Debug, Clone)]
pub struct Work {
    pub queue: String,
    pub prefetch: u16,
}

/// Consumes `work` until the stop.
pub async fn consume<H: Handler>(agent: &Agent, work: &Work, handler: Arc<H>) {
    let mut delay = ReconnectDelay::new();
    agent.readiness.set(&work.queue, false);
    while !agent.stop.is_cancelled() {
        let outcome = consume_until_error(agent, work, &handler, &mut delay).await;
        agent.readiness.set(&work.queue, false);
        if let Err(error) = outcome {
            let wait = delay.next();
            let (error, wait_ms) = (with_causes(&error), wait.as_millis());
            tracing::warn!(
                queue = work.queue,
                error,
                wait_ms,
                "the consumer restarts after an error"
            );
            pause(&agent.stop, wait).await;
        }
    }
}

async fn consume_until_error<H: Handler>(
    agent: &Agent,
    work: &Work,
    handler: &Arc<H>,
    delay: &mut ReconnectDelay,
) -> Result<(), BrokerError> {
    let url = &agent.gateway.config.amqp_url;
    let mut consumer = Consumer::open(url, &work.queue, work.prefetch).await?;
    agent.readiness.set(&work.queue, true);
    rejected(&work.queue, 0);
    let mut tasks: JoinSet<Result<(), BrokerError>> = JoinSet::new();
    let read = read(agent, work, handler, &mut consumer, &mut tasks, delay).await;
    if read.is_ok() {
        consumer.cancel().await?;
    }
    // Also if the broker connection is lost: running work records its outcome, so that the
    // redelivered message finds it done.
    let finished = finish(agent, tasks).await;
    read?;
    finished?;
    consumer.close().await
}

/// Reads until the stop or an error.
async fn read<H: Handler>(
    agent: &Agent,
    work: &Work,
    handler: &Arc<H>,
    consumer: &mut Consumer,
    tasks: &mut JoinSet<Result<(), BrokerError>>,
    delay: &mut ReconnectDelay,
) -> Result<(), BrokerError> {
    let mut watch = tokio::time::interval(WATCH_EVERY);
    let mut heard = Instant::now();
    loop {
        tokio::select! {
            message = consumer.next() => {
                let Some(message) = message? else { return Ok(()) };
                heard = Instant::now();
                delay.reset();
                let (gateway, queue) = (agent.gateway.clone(), work.queue.clone());
                tasks.spawn(traced(gateway, queue, handler.clone(), message));
            }
            Some(done) = tasks.join_next() => answered(done)?,
            _ = watch.tick() => {
                if tasks.is_empty() && heard.elapsed() > SILENCE_MAX && consumer.ready().await? > 0 {
                    return Err(BrokerError::ConsumerEnded { queue: work.queue.clone() });
                }
            }
            () = agent.stop.cancelled() => return Ok(()),
        }
    }
}

/// Lets all running work finish, within limits; the rest is requeued.
async fn finish(
    agent: &Agent,
    mut tasks: JoinSet<Result<(), BrokerError>>,
) -> Result<(), BrokerError> {
    let limit = Duration::from_secs(agent.gateway.config.worker.drain_seconds);
    let finished = tokio::time::timeout(limit, async {
        let mut outcome = Ok(());
        while let Some(done) = tasks.join_next().await {
            outcome = outcome.and(answered(done));
        }
        outcome
    });
    let outcome = finished.await.unwrap_or_else(|_| {
        tracing::warn!(left = tasks.len(), "some messages are requeued");
        Ok(())
    });
    tasks.abort_all();
    outcome
}

fn answered(
    done: Result<Result<(), BrokerError>, tokio::task::JoinError>,
) -> Result<(), BrokerError> {
    // Panics are caught inside the task; a join error means that it was aborted.
    done.unwrap_or(Ok(()))
}

/// Processes a message within the trace that caused it.
async fn traced<H: Handler>(
    gateway: Arc<Gateway>,
    queue: String,
    handler: Arc<H>,
    message: Message,
) -> Result<(), BrokerError> {
    let cause = envelope::trace_of(&message.body);
    let span = Span::begin(format!("process {queue}"), Kind::Consumer, cause);
    let redelivered = message.redelivered;
    let outcome = span.scope(work_on(&gateway, &queue, handler, message)).await;
    span.end(vec![("messaging.redelivered", redelivered.to_string())]);
    outcome
}

/// Counts messages that are dead-lettered at once. Starts from zero, or the first would show as no
/// change.
fn rejected(queue: &str, count: u64) {
    metrics::counter!("messages_rejected_total", "queue" => queue.to_owned()).increment(count);
}

async fn work_on<H: Handler>(
    gateway: &Gateway,
    queue: &str,
    handler: Arc<H>,
    message: Message,
) -> Result<(), BrokerError> {
    let started = Instant::now();
    let mut delay = ReconnectDelay::new();
    loop {
        let attempt = async {
            // On the heap: the largest handlers fill the stack with a copy for each layer around
            // them.
            match Box::pin(handler.handle(&message.body)).await {
                Err(damage @ StorageError::Damaged { .. }) => {
                    let first = gateway.set_aside(queue, &message.body, &damage).await?;
                    Ok(if first { Answer::Reject } else { Answer::Ack })
                }
                outcome => outcome,
            }
        };
        let attempt = AssertUnwindSafe(attempt).catch_unwind();
        let error = match tokio::time::timeout(HANDLE_LIMIT, attempt).await {
            Ok(Ok(Ok(Answer::Ack))) => return message.ack().await,
            Ok(Ok(Ok(Answer::Reject))) => {
                rejected(queue, 1);
                return message.reject().await;
            }
            Ok(Ok(Err(error))) => error,
            Ok(Err(_panic)) => {
                tracing::error!("a handler panicked; its message goes back to the queue");
                return message.requeue().await;
            }
            Err(_) => StorageError::TimedOut,
        };
        if started.elapsed() >= HOLD_MAX {
            tracing::warn!(error = with_causes(&error), "a message is requeued");
            return message.requeue().await;
        }
        tracing::debug!(error = with_causes(&error), "a message is tried again");
        tokio::time::sleep(delay.next()).await;
    }
}
