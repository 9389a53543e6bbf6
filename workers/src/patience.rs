//! Waiting that a stop can interrupt.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// Waits for `time`, or less if the process stops.
pub async fn pause(stop: &CancellationToken, time: Duration) {
    tokio::select! {
        () = tokio::time::sleep(time) => {}
        () = stop.cancelled() => {}
    }
}

/// Formats an error with its sources in one line, for the log.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source()).take(8);
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
