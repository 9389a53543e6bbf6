//! Backoff before reconnecting. No other module imports the `backoff` crate.
//!
//! Only for our own connections (database, broker, nodes). Deliveries to merchants follow the
//! schedule of the specification and count their attempts in a row, never here.

use std::time::Duration;

use backoff::{
    SystemClock,
    backoff::Backoff,
    exponential::{ExponentialBackoff, ExponentialBackoffBuilder},
};

/// Minimum delay: an endpoint that refuses at once must not be hammered.
pub const DELAY_MIN: Duration = Duration::from_millis(200);
/// Maximum delay: it bounds how late a recovery of the other side is noticed.
pub const DELAY_MAX: Duration = Duration::from_secs(15);

/// Delays of one connection's reconnect loop. It never gives up.
#[derive(Debug)]
pub struct ReconnectDelay {
    inner: ExponentialBackoff<SystemClock>,
}

impl ReconnectDelay {
    pub fn new() -> Self {
        // A randomisation of 1 draws from zero to twice the interval ("full jitter"), so that many
        // processes which lost one server do not reconnect in step. The interval is therefore half
        // of the ceiling.
        let inner = ExponentialBackoffBuilder::new()
            .with_initial_interval(DELAY_MIN)
            .with_max_interval(DELAY_MAX / 2)
            .with_randomization_factor(1.0)
            .with_multiplier(2.0)
            .with_max_elapsed_time(None)
            .build();
        Self { inner }
    }

    /// Returns the time to wait before the next attempt.
    #[expect(clippy::should_implement_trait, reason = "an iterator may end, this never does")]
    pub fn next(&mut self) -> Duration {
        // `None` means that the elapsed time exceeded its limit, and no such limit is set.
        self.inner.next_backoff().unwrap_or(DELAY_MAX).clamp(DELAY_MIN, DELAY_MAX)
    }

    /// Call this once a connection has worked: the next delay is short again.
    pub fn reset(&mut self) {
        self.inner.reset();
    }
}

impl Default for ReconnectDelay {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_stay_within_their_bounds_and_never_end() {
        let mut delay = ReconnectDelay::new();
        let drawn: Vec<_> = (0..2_000).map(|_| delay.next()).collect();
        assert!(drawn.iter().all(|d| (DELAY_MIN..=DELAY_MAX).contains(d)));
        assert!(drawn[0] <= DELAY_MIN * 2, "the first delay is short, not {:?}", drawn[0]);
        assert!(drawn.iter().any(|d| *d > DELAY_MAX * 3 / 4), "the ceiling is reached");
        assert!(drawn[100..].iter().any(|d| *d < DELAY_MAX / 4), "the jitter is full");
    }

    #[test]
    fn backoff_starts_over_after_a_connection_has_been_stable() {
        let mut delay = ReconnectDelay::new();
        for _ in 0..50 {
            delay.next();
        }
        delay.reset();
        assert!(delay.next() <= DELAY_MIN * 2);
    }
}
