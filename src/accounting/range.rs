//! The time range of an export: `from` is part of it, `to` is not. UTC only.

use chrono::{DateTime, Days, NaiveDate, NaiveTime, TimeDelta, Timelike, Utc};

/// The longest range of one export (spec, "Limits").
pub const DAYS_MAX: i64 = 366;
const DATE_CHARS: usize = "2026-01-31".len();

/// Times from `from` up to, and without, `to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    pub from: DateTime<Utc>,
    pub to: DateTime<Utc>,
}

/// The reasons why two texts are no range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    #[error("{0} must be a date (2026-01-31) or a time in UTC (2026-01-31T12:00:00Z)")]
    Unreadable(&'static str),
    #[error("{0} must be in UTC: end it with Z instead of another offset")]
    NotUtc(&'static str),
    #[error("from must be before to; the range ends before to")]
    Empty,
    #[error("the range spans more than {DAYS_MAX} days")]
    TooLarge,
}

impl Range {
    pub fn parse(from: &str, to: &str) -> Result<Self, RangeError> {
        let range = Self { from: instant("from", from)?, to: instant("to", to)? };
        if range.from >= range.to {
            return Err(RangeError::Empty);
        }
        if range.to - range.from > TimeDelta::days(DAYS_MAX) {
            return Err(RangeError::TooLarge);
        }
        Ok(range)
    }

    /// The calendar month that `YYYY-MM` names.
    pub fn month(text: &str) -> Option<Self> {
        let from = (text.len() == "2026-01".len()).then(|| date(&format!("{text}-01")))??;
        // 31 days later is within the next month, whichever it is.
        let next = from.checked_add_days(Days::new(31))?.format("%Y-%m-01").to_string();
        let begin = |date: NaiveDate| date.and_time(NaiveTime::MIN).and_utc();
        Some(Self { from: begin(from), to: begin(date(&next)?) })
    }

    /// The bounds as a file's name has them.
    pub fn file_name(&self) -> String {
        format!("{}-{}", spelled(self.from), spelled(self.to))
    }
}

fn spelled(instant: DateTime<Utc>) -> String {
    let is_day = instant.time() == NaiveTime::MIN;
    instant.format(if is_day { "%Y-%m-%d" } else { "%Y-%m-%dT%H%M%SZ" }).to_string()
}

fn instant(name: &'static str, text: &str) -> Result<DateTime<Utc>, RangeError> {
    if text.len() == DATE_CHARS {
        let date = date(text).ok_or(RangeError::Unreadable(name))?;
        return Ok(date.and_time(NaiveTime::MIN).and_utc());
    }
    let parsed = DateTime::parse_from_rfc3339(text).map_err(|_| RangeError::Unreadable(name))?;
    if parsed.offset().local_minus_utc() != 0 {
        return Err(RangeError::NotUtc(name));
    }
    // A leap second is no time of the database.
    if parsed.nanosecond() >= 1_000_000_000 {
        return Err(RangeError::Unreadable(name));
    }
    Ok(parsed.to_utc())
}

/// A date in the one spelling that sorts as text.
fn date(text: &str) -> Option<NaiveDate> {
    let shape = |(index, byte): (usize, u8)| match index {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    let is_spelled = text.len() == DATE_CHARS && text.bytes().enumerate().all(shape);
    is_spelled.then(|| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok())?
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn days(from: &str, to: &str) -> Result<i64, RangeError> {
        Range::parse(from, to).map(|range| (range.to - range.from).num_days())
    }

    #[test]
    fn a_range_is_of_366_days_at_most_and_of_one_instant_at_least() {
        for (from, to, expected) in [
            ("2026-03-01", "2026-04-01", Ok(31)),
            ("2028-01-01", "2029-01-01", Ok(366)),
            ("2028-01-01", "2029-01-02", Err(RangeError::TooLarge)),
            ("2028-01-01", "2029-01-01T00:00:00.000001Z", Err(RangeError::TooLarge)),
            ("2026-01-01", "2027-01-02", Ok(366)),
            ("2026-01-01", "2027-01-03", Err(RangeError::TooLarge)),
            ("2028-02-28", "2028-03-01", Ok(2)),
            ("2026-02-28", "2026-03-01", Ok(1)),
            ("2028-02-29", "2028-03-01", Ok(1)),
            ("2026-02-29", "2026-03-01", Err(RangeError::Unreadable("from"))),
            ("2026-03-01", "2026-03-01", Err(RangeError::Empty)),
            ("2026-03-02", "2026-03-01", Err(RangeError::Empty)),
            ("2026-03-01T00:00:00Z", "2026-03-01T00:00:00.000001Z", Ok(0)),
        ] {
            assert_eq!(days(from, to), expected, "{from} {to}");
        }
    }

    #[test]
    fn times_are_in_utc_and_spelled_out() {
        let from = |text: &str| Range::parse(text, "2026-06-30").map(|range| range.from);
        let noon = NaiveDate::from_ymd_opt(2026, 6, 1).unwrap().and_hms_opt(12, 0, 0).unwrap();
        for text in
            ["2026-06-01T12:00:00Z", "2026-06-01T12:00:00+00:00", "2026-06-01T12:00:00.000Z"]
        {
            assert_eq!(from(text), Ok(noon.and_utc()), "{text}");
        }
        for text in ["2026-06-01T12:00:00+02:00", "2026-06-01T12:00:00-00:30"] {
            assert_eq!(from(text), Err(RangeError::NotUtc("from")), "{text}");
        }
        for text in [
            "",
            "2026-6-1",
            "01.06.2026",
            "06/01/2026",
            "2026-13-01",
            "2026-06-31",
            "20260601",
            "2026-06",
            "2026-06-01T12:00:00",
            "2026-06-01 12:00:00 ",
            "+026-06-01",
            "2026-W22-1",
            "1780315200",
            "2026-06-01T23:59:60Z",
            "yesterday",
            "２０２６-06-01",
        ] {
            assert_eq!(from(text), Err(RangeError::Unreadable("from")), "{text}");
        }
        let to = Range::parse("2026-06-01", "soon");
        assert_eq!(to, Err(RangeError::Unreadable("to")));
    }

    #[test]
    fn a_month_ends_where_the_next_begins() {
        for (month, days, name) in [
            ("2026-01", 31, "2026-01-01-2026-02-01"),
            ("2026-02", 28, "2026-02-01-2026-03-01"),
            ("2028-02", 29, "2028-02-01-2028-03-01"),
            ("2026-12", 31, "2026-12-01-2027-01-01"),
        ] {
            let range = Range::month(month).unwrap();
            assert_eq!((range.to - range.from).num_days(), days, "{month}");
            assert_eq!(range.file_name(), name);
        }
        for text in ["", "2026", "2026-13", "2026-00", "2026-1", "26-01", "2026/01", "2026-01-01"] {
            assert_eq!(Range::month(text), None, "{text}");
        }
    }

    #[test]
    fn a_file_s_name_has_dates_and_no_colons() {
        let range = Range::parse("2026-03-01", "2026-03-02T08:30:00Z").unwrap();
        assert_eq!(range.file_name(), "2026-03-01-2026-03-02T083000Z");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(from in ".*", to in ".*") {
            let _ = Range::parse(&from, &to);
            let _ = Range::month(&from);
        }

        #[test]
        fn a_whole_day_range_is_accepted_up_to_366_days(start in 0_i64..20_000, length in -3_i64..800) {
            let first = NaiveDate::from_ymd_opt(2000, 1, 1).unwrap() + TimeDelta::days(start);
            let last = first + TimeDelta::days(length);
            let expected = match length {
                ..=0 => Err(RangeError::Empty),
                1..=366 => Ok(length),
                _ => Err(RangeError::TooLarge),
            };
            prop_assert_eq!(days(&first.to_string(), &last.to_string()), expected);
        }
    }
}
