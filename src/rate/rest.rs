//! Backoff of a failing provider.

use std::time::Duration;

use tokio::time::Instant;

const REST_FIRST: Duration = Duration::from_secs(5);
const REST_MAX: Duration = Duration::from_secs(5 * 60);
/// A provider may ask for a longer pause than our own backoff, but not for an unlimited one.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(60 * 60);

/// Failures of one provider since its last response.
#[derive(Debug, Default)]
pub(super) struct Rest {
    failures: u32,
    until: Option<Instant>,
}

impl Rest {
    /// Returns true if the provider may be called at `now`.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.until.is_none_or(|until| until <= now)
    }

    pub(super) fn succeeded(&mut self) {
        *self = Self::default();
    }

    pub(super) fn failed(&mut self, now: Instant, retry_after: Option<Duration>) {
        let doubled = REST_FIRST.saturating_mul(2_u32.saturating_pow(self.failures));
        self.failures = self.failures.saturating_add(1);
        let asked = retry_after.unwrap_or_default().min(RETRY_AFTER_MAX);
        self.until = Some(now + doubled.min(REST_MAX).max(asked));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_of_a_failing_provider_double_from_five_seconds_to_five_minutes() {
        let now = Instant::now();
        let mut rest = Rest::default();
        assert!(rest.is_over(now));
        for seconds in [5, 10, 20, 40, 80, 160, 300, 300, 300] {
            rest.failed(now, None);
            assert!(!rest.is_over(now + Duration::from_millis(seconds * 1000 - 1)), "{seconds}");
            assert!(rest.is_over(now + Duration::from_secs(seconds)), "{seconds}");
        }
        for _ in 0..100 {
            rest.failed(now, None);
        }
        assert!(rest.is_over(now + REST_MAX));
        rest.succeeded();
        assert!(rest.is_over(now));
        rest.failed(now, None);
        assert!(rest.is_over(now + REST_FIRST));
    }

    #[test]
    fn a_rate_provider_s_retry_after_is_obeyed_up_to_a_limit() {
        let now = Instant::now();
        for (asked, seconds) in [(1, 5), (120, 120), (u64::MAX, 3600)] {
            let mut rest = Rest::default();
            rest.failed(now, Some(Duration::from_secs(asked)));
            assert!(!rest.is_over(now + Duration::from_millis(seconds * 1000 - 1)), "{asked}");
            assert!(rest.is_over(now + Duration::from_secs(seconds)), "{asked}");
        }
    }
}
