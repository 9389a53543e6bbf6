//! Renewal dates by the calendar, in UTC.
//!
//! Each date is computed from the anchor and the number of the cycle alone, never from the date
//! before it: 31 January is followed by 28 or 29 February and then by 31 March again.

use chrono::{DateTime, Days, Months, Utc};

use super::Interval;

/// The shortest `interval_count` of days: reminders begin three days before a renewal and end three
/// days after it, so those of two cycles never overlap.
pub const DAYS_MIN: u32 = 7;
/// Ten years.
const COUNT_MAX: [(Interval, u32); 4] =
    [(Interval::Day, 3_650), (Interval::Week, 520), (Interval::Month, 120), (Interval::Year, 10)];

/// The time between two payments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    pub interval: Interval,
    pub count: u32,
}

/// Reason why a period is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PeriodError {
    #[error("interval_count of days must be at least {DAYS_MIN}, or reminders would overlap")]
    TooShort,
    #[error("interval_count must be 1 to {max}")]
    Count { max: u32 },
}

impl Period {
    pub fn new(interval: Interval, count: u32) -> Result<Self, PeriodError> {
        let bound = COUNT_MAX.into_iter().find(|(known, _)| *known == interval);
        let max = bound.map_or(1, |(_, max)| max);
        if !(1..=max).contains(&count) {
            return Err(PeriodError::Count { max });
        }
        if interval == Interval::Day && count < DAYS_MIN {
            return Err(PeriodError::TooShort);
        }
        Ok(Self { interval, count })
    }

    /// The end of cycle `cycle`, which is when the next one is to be paid. `None` beyond the end of
    /// the calendar.
    pub fn renewal(self, anchor: DateTime<Utc>, cycle: u32) -> Option<DateTime<Utc>> {
        let units = self.count.checked_mul(cycle)?;
        match self.interval {
            Interval::Day => anchor.checked_add_days(Days::new(u64::from(units))),
            Interval::Week => anchor.checked_add_days(Days::new(u64::from(units) * 7)),
            Interval::Month => anchor.checked_add_months(Months::new(units)),
            Interval::Year => anchor.checked_add_months(Months::new(units.checked_mul(12)?)),
        }
    }

    /// The cycle whose period `at` falls in: the first that ends after it.
    pub fn cycle_at(self, anchor: DateTime<Utc>, at: DateTime<Utc>) -> u32 {
        let ended = |cycle: u32| self.renewal(anchor, cycle).is_some_and(|end| end <= at);
        // The ends are in order, so the first one beyond `at` is found by halving.
        let (mut over, mut open) = (0_u32, 1_u32);
        while ended(open) {
            let Some(next) = open.checked_mul(2) else { return open };
            (over, open) = (open, next);
        }
        while open - over > 1 {
            let middle = over + (open - over) / 2;
            if ended(middle) { over = middle } else { open = middle }
        }
        open
    }
}

#[cfg(test)]
mod tests {
    use chrono::{Datelike, NaiveDate, Timelike};
    use proptest::prelude::*;

    use super::*;

    fn date(text: &str) -> DateTime<Utc> {
        text.parse::<NaiveDate>().unwrap().and_hms_opt(10, 20, 30).unwrap().and_utc()
    }

    fn every(interval: Interval, count: u32) -> Period {
        Period::new(interval, count).unwrap()
    }

    #[test]
    fn month_ends_and_leap_years_follow_the_anchor() {
        for (anchor, period, expected) in [
            (
                "2024-01-31",
                every(Interval::Month, 1),
                ["2024-02-29", "2024-03-31", "2024-04-30", "2024-05-31", "2024-06-30"],
            ),
            (
                "2023-01-30",
                every(Interval::Month, 1),
                ["2023-02-28", "2023-03-30", "2023-04-30", "2023-05-30", "2023-06-30"],
            ),
            (
                "2024-02-29",
                every(Interval::Year, 1),
                ["2025-02-28", "2026-02-28", "2027-02-28", "2028-02-29", "2029-02-28"],
            ),
            (
                "2023-12-31",
                every(Interval::Month, 2),
                ["2024-02-29", "2024-04-30", "2024-06-30", "2024-08-31", "2024-10-31"],
            ),
            (
                "2023-12-28",
                every(Interval::Week, 1),
                ["2024-01-04", "2024-01-11", "2024-01-18", "2024-01-25", "2024-02-01"],
            ),
            (
                "2024-02-25",
                every(Interval::Day, 7),
                ["2024-03-03", "2024-03-10", "2024-03-17", "2024-03-24", "2024-03-31"],
            ),
            (
                "1999-11-30",
                every(Interval::Month, 3),
                ["2000-02-29", "2000-05-30", "2000-08-30", "2000-11-30", "2001-02-28"],
            ),
            (
                "2096-02-29",
                every(Interval::Year, 2),
                ["2098-02-28", "2100-02-28", "2102-02-28", "2104-02-29", "2106-02-28"],
            ),
        ] {
            for (cycle, end) in (1..).zip(expected) {
                let renewal = period.renewal(date(anchor), cycle);
                assert_eq!(renewal, Some(date(end)), "{anchor} {period:?} {cycle}");
            }
        }
    }

    #[test]
    fn a_year_of_monthly_cycles_from_the_last_of_january() {
        let period = every(Interval::Month, 1);
        let ends: Vec<_> = (1..=12)
            .map(|cycle| {
                period.renewal(date("2026-01-31"), cycle).unwrap().format("%m-%d").to_string()
            })
            .collect();
        let expected = [
            "02-28", "03-31", "04-30", "05-31", "06-30", "07-31", "08-31", "09-30", "10-31",
            "11-30", "12-31", "01-31",
        ];
        assert_eq!(ends, expected);
    }

    #[test]
    fn reminders_of_two_cycles_never_overlap() {
        assert_eq!(Period::new(Interval::Day, 6), Err(PeriodError::TooShort));
        for (interval, count) in [(Interval::Day, 7), (Interval::Week, 1), (Interval::Month, 1)] {
            let period = every(interval, count);
            for day in 0..800 {
                let anchor = date("2024-01-01") + Days::new(day);
                let between =
                    period.renewal(anchor, 2).unwrap() - period.renewal(anchor, 1).unwrap();
                assert!(between.num_days() > 6, "{anchor} {period:?}");
            }
        }
        for (interval, count, max) in
            [(Interval::Month, 0, 120), (Interval::Year, 11, 10), (Interval::Week, 521, 520)]
        {
            assert_eq!(Period::new(interval, count), Err(PeriodError::Count { max }));
        }
    }

    /// Days of a month by the rule of Gregory XIII, written without the calendar's library.
    fn days_in(year: i64, month: i64) -> i64 {
        let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        match month {
            2 if is_leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        }
    }

    /// The date `units` intervals after another one, counted month by month and day by day.
    fn counted(from: (i64, i64, i64), interval: Interval, units: i64) -> (i64, i64, i64) {
        let (mut year, mut month, mut day) = from;
        match interval {
            Interval::Month | Interval::Year => {
                let months = if interval == Interval::Year { units * 12 } else { units };
                for _ in 0..months {
                    month += 1;
                    if month > 12 {
                        (year, month) = (year + 1, 1);
                    }
                }
                day = day.min(days_in(year, month));
            }
            Interval::Day | Interval::Week => {
                let days = if interval == Interval::Week { units * 7 } else { units };
                for _ in 0..days {
                    day += 1;
                    if day > days_in(year, month) {
                        (month, day) = (month + 1, 1);
                    }
                    if month > 12 {
                        (year, month) = (year + 1, 1);
                    }
                }
            }
        }
        (year, month, day)
    }

    proptest! {
        /// 400 years, after which the calendar repeats itself.
        #[test]
        fn every_renewal_is_that_of_an_independent_calendar(
            day in 0_u64..146_097,
            interval in prop::sample::select(Interval::ALL.to_vec()),
            count in 1_u32..=24,
            cycle in 0_u32..=30,
        ) {
            prop_assume!(Period::new(interval, count).is_ok());
            let anchor = date("1900-03-01") + Days::new(day);
            let renewal = every(interval, count).renewal(anchor, cycle).unwrap();
            let parts = |date: DateTime<Utc>| {
                (i64::from(date.year()), i64::from(date.month()), i64::from(date.day()))
            };
            let units = i64::from(count) * i64::from(cycle);
            prop_assert_eq!(parts(renewal), counted(parts(anchor), interval, units));
            // The time of day is the anchor's.
            prop_assert_eq!((renewal.hour(), renewal.minute(), renewal.second()), (10, 20, 30));
        }

        #[test]
        fn the_cycle_of_a_moment_is_the_one_whose_period_it_falls_in(
            day in 0_u64..146_097,
            later in 0_u64..20_000,
            interval in prop::sample::select(Interval::ALL.to_vec()),
            count in 7_u32..=10,
        ) {
            let (anchor, period) = (date("1900-03-01") + Days::new(day), every(interval, count));
            let at = anchor + Days::new(later);
            let cycle = period.cycle_at(anchor, at);
            prop_assert!(period.renewal(anchor, cycle).unwrap() > at);
            prop_assert!(period.renewal(anchor, cycle - 1).unwrap() <= at);
        }
    }
}
