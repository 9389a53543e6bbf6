//! Rules of punctual deposits (design, "The deadline").

use chrono::{DateTime, TimeDelta, Utc};

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

/// How far a network was watched, and since when it can have been.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Watched {
    /// The moment up to which every payment is known: the start of the last look where the mempool
    /// shows payments, else the date of the newest block that was read.
    pub through: Option<DateTime<Utc>>,
    /// When the database turned out to be a restored one, from which the watcher begins anew where
    /// the backup ends.
    pub restored_at: Option<DateTime<Utc>>,
}

impl Watched {
    /// The moment from which a deadline waits. A restored database gets its whole time, as a backup
    /// may be older than any.
    pub fn waits_since(self, deadline: DateTime<Utc>) -> DateTime<Utc> {
        self.restored_at.map_or(deadline, |restored_at| deadline.max(restored_at))
    }
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
    pub fn of(
        deadline: DateTime<Utc>,
        now: DateTime<Utc>,
        watched: Watched,
        grace: TimeDelta,
    ) -> Self {
        if watched.through.is_some_and(|through| through > deadline) {
            Self::Complete
        } else if now - watched.waits_since(deadline) >= grace {
            Self::GraceEnded
        } else {
            Self::Behind
        }
    }
}

/// Time for which a deadline waits for payments in time that are not booked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Patience {
    /// With one that may never come into a block.
    pub unconfirmed: TimeDelta,
    /// With one that is in a block, and lacks nothing but blocks upon it: those may be late when
    /// the network stood still.
    pub mined: TimeDelta,
}

impl Patience {
    /// Returns true if a deadline that was due `since` still waits. Final payments only wait for
    /// their booking, which needs no chain and always happens.
    pub fn lasts(self, since: TimeDelta, is_any_mined: bool, is_any_final: bool) -> bool {
        is_any_final || since < self.unconfirmed || is_any_mined && since < self.mined
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let sight =
            |now, through| Sight::of(at(0), at(now), Watched { through, restored_at: None }, grace);
        assert_eq!(sight(1, Some(at(1))), Sight::Complete);
        assert_eq!(sight(1, Some(at(0))), Sight::Behind);
        assert_eq!(sight(599, None), Sight::Behind);
        assert_eq!(sight(600, None), Sight::GraceEnded);
        assert_eq!(sight(9999, Some(at(5))), Sight::Complete);
    }

    #[test]
    fn a_restored_database_waits_its_whole_grace_for_the_watcher() {
        let grace = TimeDelta::seconds(600);
        let sight = |now, restored: i64, through: Option<i64>| {
            let watched = Watched { through: through.map(at), restored_at: Some(at(restored)) };
            Sight::of(at(0), at(now), watched, grace)
        };
        assert_eq!(sight(90_000, 90_000, None), Sight::Behind);
        assert_eq!(sight(90_599, 90_000, Some(-90_000)), Sight::Behind);
        assert_eq!(sight(90_600, 90_000, Some(-90_000)), Sight::GraceEnded);
        assert_eq!(sight(90_001, 90_000, Some(1)), Sight::Complete);
        assert_eq!(sight(600, -90_000, None), Sight::GraceEnded, "restored long before");
    }

    #[test]
    fn a_payment_in_a_block_is_waited_for_longer_than_one_in_none_and_a_final_one_always() {
        let patience =
            Patience { unconfirmed: TimeDelta::seconds(300), mined: TimeDelta::seconds(600) };
        let lasts =
            |since, mined, is_final| patience.lasts(TimeDelta::seconds(since), mined, is_final);
        assert!(lasts(299, false, false) && !lasts(300, false, false));
        assert!(lasts(599, true, false) && !lasts(600, true, false));
        assert!(lasts(9999, false, true));
    }
}
