//! Rules of punctual deposits (design, "The deadline").

use chrono::{DateTime, Utc};

/// Returns true if a deposit counts for an invoice whose window ends at `deadline`.
///
/// Either clock suffices: ours at the first sight of it, or the block's. A buyer who paid in time
/// is not punished for a slow block, nor for our late look.
pub fn is_on_time(
    deadline: DateTime<Utc>,
    first_seen_at: DateTime<Utc>,
    mined_at: Option<DateTime<Utc>>,
) -> bool {
    first_seen_at <= deadline || mined_at.is_some_and(|mined_at| mined_at <= deadline)
}

/// Progress of the network's watcher when the deadline is decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sight {
    /// Every payment up to a moment after the deadline is known.
    Complete,
    /// The watcher lags: there may be a payment in time that it has not seen.
    Behind,
    /// The watcher lags, and the wait for it has reached the network's limit.
    GraceEnded,
}

impl Sight {
    /// `watched_through` is the moment up to which every payment is known: the start of the last
    /// look where the mempool shows payments, else the date of the newest block that was read.
    pub fn of(
        deadline: DateTime<Utc>,
        now: DateTime<Utc>,
        watched_through: Option<DateTime<Utc>>,
        grace: chrono::TimeDelta,
    ) -> Self {
        if watched_through.is_some_and(|through| through > deadline) {
            Self::Complete
        } else if now - deadline >= grace {
            Self::GraceEnded
        } else {
            Self::Behind
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeDelta;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_000_000 + second, 0).unwrap()
    }

    #[test]
    fn seen_or_mined_by_the_deadline_is_on_time() {
        assert!(is_on_time(at(0), at(0), None));
        assert!(!is_on_time(at(0), at(1), None));
        assert!(is_on_time(at(0), at(600), Some(at(0))));
        assert!(!is_on_time(at(0), at(600), Some(at(1))));
    }

    #[test]
    fn a_lagging_watcher_is_waited_for_but_not_for_ever() {
        let grace = TimeDelta::seconds(600);
        let sight = |now, through| Sight::of(at(0), at(now), through, grace);
        assert_eq!(sight(1, Some(at(1))), Sight::Complete);
        assert_eq!(sight(1, Some(at(0))), Sight::Behind);
        assert_eq!(sight(599, None), Sight::Behind);
        assert_eq!(sight(600, None), Sight::GraceEnded);
        assert_eq!(sight(9999, Some(at(5))), Sight::Complete);
    }
}
