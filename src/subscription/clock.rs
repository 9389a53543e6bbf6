//! The times at which the gateway acts on dates of the calendar.
//!
//! In production a date is its own time. A sandbox link may let a day pass in some seconds: then
//! the waiting is scaled and the calendar is not, so every date is a real one.

use chrono::{DateTime, TimeDelta, Utc};

/// Seconds of a day that passes at its own speed.
pub const DAY_SECONDS: u32 = 86_400;
const MICROS: i128 = 1_000_000;

/// The speed of one subscription's days.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// The moment that is the same on both clocks.
    pub origin: DateTime<Utc>,
    /// Seconds that a day takes.
    pub day_seconds: u32,
    /// Days that were skipped by hand.
    pub advanced_days: u32,
}

impl Clock {
    /// The date that the calendar shows at `time`.
    pub fn date_at(&self, time: DateTime<Utc>) -> DateTime<Utc> {
        let passed = micros(time - self.origin) * i128::from(DAY_SECONDS);
        let passed = passed.div_euclid(i128::from(self.day_seconds.max(1)));
        self.origin + delta(passed + self.advanced())
    }

    /// The time at which the calendar shows `date`, rounded up to a microsecond.
    pub fn time_of(&self, date: DateTime<Utc>) -> DateTime<Utc> {
        let dates = micros(date - self.origin) - self.advanced();
        let scaled = dates * i128::from(self.day_seconds.max(1));
        let day = i128::from(DAY_SECONDS);
        self.origin + delta((scaled + day - 1).div_euclid(day))
    }

    const fn advanced(&self) -> i128 {
        self.advanced_days as i128 * DAY_SECONDS as i128 * MICROS
    }
}

/// Zero only for spans of 292,000 years, which no date has.
fn micros(span: TimeDelta) -> i128 {
    span.num_microseconds().map_or(0, i128::from)
}

fn delta(micros: i128) -> TimeDelta {
    TimeDelta::microseconds(i64::try_from(micros).unwrap_or(i64::MAX / 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_700_000_000 + second, 0).unwrap()
    }

    #[test]
    fn a_day_takes_its_seconds_and_both_ways_agree() {
        let plain = Clock { origin: at(0), day_seconds: DAY_SECONDS, advanced_days: 0 };
        for second in [-5, 0, 1, 86_400, 1_000_000_000] {
            assert_eq!(plain.date_at(at(second)), at(second));
            assert_eq!(plain.time_of(at(second)), at(second));
        }
        let quick = Clock { day_seconds: 2, ..plain };
        assert_eq!(quick.date_at(at(60)), at(30 * 86_400));
        assert_eq!(quick.time_of(at(30 * 86_400)), at(60));
        let advanced = Clock { advanced_days: 27, ..quick };
        assert_eq!(advanced.date_at(at(0)), at(27 * 86_400));
        assert_eq!(advanced.time_of(at(30 * 86_400)), at(6));
        assert_eq!(advanced.time_of(at(0)), at(-54));
        // A time computed from a date never comes before it.
        for second in 0..1_000 {
            let date = at(second * 7);
            for day_seconds in [1, 3, 7, 1_000] {
                let clock = Clock { day_seconds, ..plain };
                assert!(clock.date_at(clock.time_of(date)) >= date, "{second} {day_seconds}");
            }
        }
    }
}
