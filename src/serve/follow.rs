//! Loop that tells waiting pages of a change of their invoice.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use tokio_util::sync::CancellationToken;

use crate::app::Gateway;

/// Pause between two looks, while somebody waits. With the look, the answer and the way to the
/// buyer it keeps within half a second.
const PAUSE: Duration = Duration::from_millis(200);
/// A look that takes long is followed by a longer pause: the database has other work.
const PAUSE_PER_LOOK: u32 = 3;
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// Pause after a look that failed. Those who wait are answered after their time, as they would be
/// without it.
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(2);

/// Looks until `stop`, then answers everybody who waits. Without a page that waits it does
/// nothing.
pub async fn run_follow(gateway: Arc<Gateway>, stop: CancellationToken) {
    gateway.open_following();
    tokio::select! {
        () = look(&gateway) => {}
        () = stop.cancelled() => {}
    }
    gateway.close_following();
}

async fn look(gateway: &Gateway) {
    loop {
        gateway.somebody_follows().await;
        let started = Instant::now();
        let pause = match gateway.wake_followers().await {
            Ok(()) => pause_after(started.elapsed()),
            Err(error) => {
                tracing::debug!(%error, "the invoices of waiting pages could not be read");
                PAUSE_AFTER_ERROR
            }
        };
        tokio::time::sleep(pause).await;
    }
}

fn pause_after(look: Duration) -> Duration {
    (look * PAUSE_PER_LOOK).clamp(PAUSE, PAUSE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_database_is_asked_less_often() {
        for (look, pause) in [(1, 200), (66, 200), (100, 300), (900, 1_000)] {
            assert_eq!(pause_after(Duration::from_millis(look)), Duration::from_millis(pause));
        }
    }
}
