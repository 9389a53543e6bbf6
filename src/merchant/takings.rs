//! Takings by period: today, this week and this month, each beside the period before it.
//!
//! Days, weeks and months are those of UTC; a week begins on Monday.

use chrono::{Datelike, Days, Months, NaiveDate};
use rust_decimal::Decimal;

/// Days of the picture of the last month.
pub const DAYS: u64 = 30;

/// Credited deposits of one day in one currency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taking {
    pub day: NaiveDate,
    /// `code@network`.
    pub token_id: String,
    /// Fiat currency of `value`; empty where no rate was known.
    pub fiat: String,
    pub units: u128,
    pub value: Decimal,
}

/// A sum so far, and the sum of the whole period before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Compared<T> {
    pub now: T,
    pub before: T,
}

/// Takings valued in one fiat currency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FiatTakings {
    pub fiat: String,
    pub day: Compared<Decimal>,
    pub week: Compared<Decimal>,
    pub month: Compared<Decimal>,
    /// Each of the last thirty days, today last.
    pub days: Vec<(NaiveDate, Decimal)>,
}

/// Takings in one currency, in base units.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenTakings {
    pub token_id: String,
    pub day: Compared<u128>,
    pub week: Compared<u128>,
    pub month: Compared<u128>,
}

/// The first day of a period, and of the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Period {
    before: NaiveDate,
    start: NaiveDate,
}

impl Period {
    fn day(today: NaiveDate) -> Self {
        Self { before: today - Days::new(1), start: today }
    }

    fn week(today: NaiveDate) -> Self {
        let start = today - Days::new(u64::from(today.weekday().num_days_from_monday()));
        Self { before: start - Days::new(7), start }
    }

    fn month(today: NaiveDate) -> Self {
        let start = today - Days::new(u64::from(today.day0()));
        Self { before: start - Months::new(1), start }
    }

    /// Sums what `part` gives for the takings of either period.
    fn sum<T: Copy>(
        self,
        takings: &[&Taking],
        part: impl Fn(&Taking) -> T,
        add: impl Fn(T, T) -> T,
        zero: T,
    ) -> Compared<T> {
        let mut sum = Compared { now: zero, before: zero };
        for taking in takings {
            if taking.day >= self.start {
                sum.now = add(sum.now, part(taking));
            } else if taking.day >= self.before {
                sum.before = add(sum.before, part(taking));
            }
        }
        sum
    }
}

/// Sums by fiat currency, the one with the most takings of this and last month first.
pub fn by_fiat(today: NaiveDate, takings: &[Taking]) -> Vec<FiatTakings> {
    let mut found: Vec<_> = names(takings, |taking| &taking.fiat)
        .into_iter()
        .filter(|fiat| !fiat.is_empty())
        .map(|fiat| {
            let of: Vec<_> = takings.iter().filter(|taking| taking.fiat == fiat).collect();
            let sum = |period: Period| {
                period.sum(&of, |taking| taking.value, Decimal::saturating_add, Decimal::ZERO)
            };
            let on = |day: NaiveDate| {
                let values = of.iter().filter(|taking| taking.day == day);
                values.fold(Decimal::ZERO, |sum, taking| sum.saturating_add(taking.value))
            };
            let days = (0..DAYS).rev().map(|back| today - Days::new(back));
            FiatTakings {
                day: sum(Period::day(today)),
                week: sum(Period::week(today)),
                month: sum(Period::month(today)),
                days: days.map(|day| (day, on(day))).collect(),
                fiat,
            }
        })
        .collect();
    found.sort_by_key(|of| std::cmp::Reverse(of.month.now.saturating_add(of.month.before)));
    found
}

/// Sums by currency, in the order of their names.
pub fn by_token(today: NaiveDate, takings: &[Taking]) -> Vec<TokenTakings> {
    let tokens = names(takings, |taking| &taking.token_id).into_iter();
    tokens
        .map(|token_id| {
            let of: Vec<_> = takings.iter().filter(|taking| taking.token_id == token_id).collect();
            let sum =
                |period: Period| period.sum(&of, |taking| taking.units, u128::saturating_add, 0);
            TokenTakings {
                day: sum(Period::day(today)),
                week: sum(Period::week(today)),
                month: sum(Period::month(today)),
                token_id,
            }
        })
        .collect()
}

fn names(takings: &[Taking], name: impl Fn(&Taking) -> &String) -> Vec<String> {
    let mut names: Vec<_> = takings.iter().map(|taking| name(taking).clone()).collect();
    names.sort();
    names.dedup();
    names
}

/// Returns the share of `part` in tenths of a per cent; `None` of nothing.
pub fn per_mille(part: i64, whole: i64) -> Option<i64> {
    if whole <= 0 { None } else { part.checked_mul(1_000)?.checked_div(whole) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    fn taking(day: &str, token: &str, fiat: &str, units: u128, value: &str) -> Taking {
        Taking {
            day: date(day),
            token_id: token.into(),
            fiat: fiat.into(),
            units,
            value: value.parse().unwrap(),
        }
    }

    #[test]
    fn each_period_stands_beside_the_whole_one_before_it() {
        // A Wednesday.
        let today = date("2026-11-25");
        for (day, of_day, of_week, of_month) in [
            ("2026-11-25", "1 0", "1 0", "1 0"),
            ("2026-11-24", "0 1", "1 0", "1 0"),
            ("2026-11-23", "0 0", "1 0", "1 0"),
            ("2026-11-22", "0 0", "0 1", "1 0"),
            ("2026-11-16", "0 0", "0 1", "1 0"),
            ("2026-11-15", "0 0", "0 0", "1 0"),
            ("2026-10-31", "0 0", "0 0", "0 1"),
            ("2026-10-01", "0 0", "0 0", "0 1"),
            ("2026-09-30", "0 0", "0 0", "0 0"),
        ] {
            let found = &by_fiat(today, &[taking(day, "btc@bitcoin", "usd", 1, "1")])[0];
            let text = |sum: Compared<Decimal>| format!("{} {}", sum.now, sum.before);
            assert_eq!(text(found.day), of_day, "day of {day}");
            assert_eq!(text(found.week), of_week, "week of {day}");
            assert_eq!(text(found.month), of_month, "month of {day}");
        }
    }

    #[test]
    fn months_of_unequal_length_follow_one_another() {
        let period = Period::month(date("2028-03-31"));
        assert_eq!((period.before, period.start), (date("2028-02-01"), date("2028-03-01")));
        let period = Period::month(date("2027-01-01"));
        assert_eq!((period.before, period.start), (date("2026-12-01"), date("2027-01-01")));
    }

    #[test]
    fn sums_keep_currencies_apart_and_the_picture_has_thirty_days() {
        let today = date("2026-11-25");
        let takings = [
            taking("2026-11-25", "btc@bitcoin", "usd", 5, "3.10"),
            taking("2026-11-25", "eth@base", "usd", 7, "1.05"),
            taking("2026-11-25", "eth@base", "eur", 2, "90"),
            taking("2026-11-25", "eth@base", "", 4, "0"),
            taking("2026-10-27", "eth@base", "usd", 1, "8"),
            taking("2026-10-26", "eth@base", "usd", 1, "9"),
        ];
        let fiats = by_fiat(today, &takings);
        assert_eq!(fiats.len(), 2);
        assert_eq!((fiats[0].fiat.as_str(), fiats[1].fiat.as_str()), ("eur", "usd"));
        assert_eq!(fiats[1].day.now, "4.15".parse().unwrap());
        assert_eq!(fiats[1].days.len(), 30);
        assert_eq!(fiats[1].days[0], (date("2026-10-27"), Decimal::from(8)));
        assert_eq!(fiats[1].days[29], (today, "4.15".parse().unwrap()));
        let tokens = by_token(today, &takings);
        assert_eq!(tokens[1].token_id, "eth@base");
        assert_eq!(tokens[1].month, Compared { now: 13, before: 2 });
    }

    #[test]
    fn a_share_of_nothing_is_none() {
        assert_eq!(per_mille(0, 0), None);
        assert_eq!(per_mille(2, 3), Some(666));
        assert_eq!(per_mille(3, 3), Some(1_000));
    }
}
