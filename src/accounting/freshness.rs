//! The rule by which a replica may serve an export.

use chrono::{DateTime, TimeDelta, Utc};

/// A replica that has followed up to this long ago serves ranges that are not settled yet.
const LAG_MAX: TimeDelta = TimeDelta::seconds(60);

/// For transactions that began before a moment to commit: an entry has the time at which its
/// transaction began.
pub const SETTLES_FOR: TimeDelta = TimeDelta::minutes(10);

/// Returns whether a replica that has followed up to `reached` has all of a range that ends at
/// `to`, or all but the last minute of one that is not settled.
pub fn is_fresh(reached: DateTime<Utc>, to: DateTime<Utc>, now: DateTime<Utc>) -> bool {
    reached >= (to + SETTLES_FOR).min(now - LAG_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_has_followed_until_the_range_is_settled_or_to_a_minute_ago() {
        let now: DateTime<Utc> = "2026-03-09T12:00:00Z".parse().unwrap();
        let ago = |seconds| now - TimeDelta::seconds(seconds);
        for (reached, to, fresh) in [
            (ago(0), ago(-3_600), true),
            (ago(60), ago(-3_600), true),
            (ago(61), ago(-3_600), false),
            (ago(61), ago(30), false),
            (ago(60), ago(60), true),
            (ago(61), ago(60), false),
            (ago(3_600), ago(3_600), false),
            (ago(3_600), ago(4_200), true),
            (ago(3_600), ago(4_199), false),
            (ago(3_600), ago(86_400), true),
        ] {
            assert_eq!(is_fresh(reached, to, now), fresh, "{reached} {to}");
        }
    }
}
