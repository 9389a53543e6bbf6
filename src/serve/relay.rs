//! Loop of the outbox relay: reconnects after failures, woken by commits, never gives up.

use std::{sync::Arc, time::Duration};

use tokio_util::sync::CancellationToken;

use super::admin::Readiness;
use crate::{
    app::{
        Gateway,
        messaging::relay_outbox::{BATCH_MAX, PausedRoutes, RelayError},
    },
    broker::publisher::Publisher,
    retry::ReconnectDelay,
    storage::StorageError,
};

/// Poll interval of the table, even without a wake-up.
const POLL: Duration = Duration::from_secs(1);
const BATCH_LIMIT: Duration = Duration::from_secs(40);

/// Relays until `stop`. Connects when necessary, with a longer wait after each failure, and never
/// gives up. The process stays ready without the relay: unpublished messages stay in their rows,
/// and the relays of other processes publish them too.
pub async fn run_relay(gateway: Arc<Gateway>, readiness: Readiness, stop: CancellationToken) {
    let mut delay = ReconnectDelay::new();
    while !stop.is_cancelled() {
        let outcome = tokio::select! {
            outcome = relay_until_error(&gateway, &readiness, &mut delay) => outcome,
            () = stop.cancelled() => return,
        };
        readiness.show("relay", false);
        let wait = delay.next();
        if let Err(error) = outcome {
            let error = with_causes(&error);
            tracing::warn!(
                error,
                wait_ms = wait.as_millis(),
                "the outbox relay restarts after an error"
            );
        }
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = stop.cancelled() => {}
        }
    }
}

async fn relay_until_error(
    gateway: &Gateway,
    readiness: &Readiness,
    delay: &mut ReconnectDelay,
) -> Result<(), RelayError> {
    let amqp_url = &gateway.config.amqp_url;
    let mut publisher = Publisher::connect(amqp_url, gateway.topology.clone()).await?;
    let mut paused = PausedRoutes::default();
    loop {
        let woken = gateway.relay_wake.notified();
        let batch = gateway.relay_once(&mut publisher, &mut paused);
        let taken = within_batch(batch).await?;
        readiness.show("relay", true);
        delay.reset();
        if i64::try_from(taken).is_ok_and(|taken| taken < BATCH_MAX) {
            // The poll is authoritative; the wake-up only makes it prompt.
            let _ = tokio::time::timeout(POLL, woken).await;
        }
    }
}

/// An unresponsive database must not block the relay for ever.
async fn within_batch(
    batch: impl Future<Output = Result<usize, RelayError>>,
) -> Result<usize, RelayError> {
    match tokio::time::timeout(BATCH_LIMIT, batch).await {
        Ok(outcome) => outcome,
        Err(_) => Err(StorageError::TimedOut.into()),
    }
}

/// Formats an error with its sources in one line.
pub(super) fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source()).take(8);
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
