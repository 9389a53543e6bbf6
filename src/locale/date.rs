//! Days and times: CLDR 48, `common/main/<language>.xml`, the formats `yMMMd` and `Hm` of the
//! Gregorian calendar and its abbreviated months. A test compares them with a browser's `Intl`.
//!
//! The month is a word where the language has words for it, because 03/04 is two days. Hours count
//! to 23 in every language, as they stand beside a time zone.

use chrono::{DateTime, Datelike, NaiveDate, Utc};

use super::Language;

/// The months as they stand in a date.
type Months = [&'static str; 12];

/// The order in which a language writes a day.
enum Order {
    /// `8 nov 2026`, with what stands behind the day and before the year.
    DayFirst { months: &'static Months, after_day: &'static str, before_year: &'static str },
    /// `Nov 8, 2026`.
    MonthFirst { months: &'static Months },
    /// `2026年11月8日`.
    Signs,
}

const GERMAN: Months = [
    "Jan.", "Feb.", "März", "Apr.", "Mai", "Juni", "Juli", "Aug.", "Sept.", "Okt.", "Nov.", "Dez.",
];
const ENGLISH: Months =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const SPANISH: Months =
    ["ene", "feb", "mar", "abr", "may", "jun", "jul", "ago", "sept", "oct", "nov", "dic"];
const FRENCH: Months = [
    "janv.", "févr.", "mars", "avr.", "mai", "juin", "juil.", "août", "sept.", "oct.", "nov.",
    "déc.",
];
const ITALIAN: Months =
    ["gen", "feb", "mar", "apr", "mag", "giu", "lug", "ago", "set", "ott", "nov", "dic"];
const DUTCH: Months =
    ["jan", "feb", "mrt", "apr", "mei", "jun", "jul", "aug", "sep", "okt", "nov", "dec"];
const POLISH: Months =
    ["sty", "lut", "mar", "kwi", "maj", "cze", "lip", "sie", "wrz", "paź", "lis", "gru"];
const PORTUGUESE: Months = [
    "jan.", "fev.", "mar.", "abr.", "mai.", "jun.", "jul.", "ago.", "set.", "out.", "nov.", "dez.",
];
const TURKISH: Months =
    ["Oca", "Şub", "Mar", "Nis", "May", "Haz", "Tem", "Ağu", "Eyl", "Eki", "Kas", "Ara"];
const ARABIC: Months = [
    "يناير",
    "فبراير",
    "مارس",
    "أبريل",
    "مايو",
    "يونيو",
    "يوليو",
    "أغسطس",
    "سبتمبر",
    "أكتوبر",
    "نوفمبر",
    "ديسمبر",
];

impl Language {
    const fn order(self) -> Order {
        let (months, after_day, before_year) = match self {
            Self::English => return Order::MonthFirst { months: &ENGLISH },
            Self::Chinese | Self::Japanese => return Order::Signs,
            Self::German => (&GERMAN, ". ", " "),
            Self::Portuguese => (&PORTUGUESE, " de ", " de "),
            Self::Spanish => (&SPANISH, " ", " "),
            Self::French => (&FRENCH, " ", " "),
            Self::Italian => (&ITALIAN, " ", " "),
            Self::Dutch => (&DUTCH, " ", " "),
            Self::Polish => (&POLISH, " ", " "),
            Self::Turkish => (&TURKISH, " ", " "),
            Self::Arabic => (&ARABIC, " ", " "),
        };
        Order::DayFirst { months, after_day, before_year }
    }

    /// A day: `8. Nov. 2026`.
    pub fn date(self, day: NaiveDate) -> String {
        let (year, number) = (day.year(), day.day());
        let of = |months: &'static Months| {
            let at = usize::try_from(day.month0()).unwrap_or(0);
            months.get(at).copied().unwrap_or_default()
        };
        match self.order() {
            Order::DayFirst { months, after_day, before_year } => {
                format!("{number}{after_day}{}{before_year}{year}", of(months))
            }
            Order::MonthFirst { months } => format!("{} {number}, {year}", of(months)),
            Order::Signs => format!("{year}年{}月{number}日", day.month()),
        }
    }

    /// A time of a day: `14:05 UTC`.
    pub fn time(self, at: DateTime<Utc>) -> String {
        let time = at.format("%H:%M");
        if self == Self::Chinese { format!("UTC {time}") } else { format!("{time} UTC") }
    }

    /// A moment: `8. Nov. 2026, 14:05 UTC`.
    pub fn moment(self, at: DateTime<Utc>) -> String {
        let between = match self {
            Self::Turkish | Self::Chinese | Self::Japanese => " ",
            Self::Arabic => "، ",
            Self::German
            | Self::English
            | Self::Spanish
            | Self::French
            | Self::Italian
            | Self::Dutch
            | Self::Polish
            | Self::Portuguese => ", ",
        };
        format!("{}{between}{}", self.date(at.date_naive()), self.time(at))
    }

    /// A day or moment of a place whose time zone the reader knows, as a database writes it:
    /// `2026-11-08`, `2026-11-08 14:05` or `14:05`. What is neither stays as it is.
    pub fn local(self, text: &str) -> String {
        let (day, time) = text.split_once(' ').unwrap_or((text, ""));
        match NaiveDate::parse_from_str(day, "%Y-%m-%d") {
            Ok(day) if time.is_empty() => self.date(day),
            Ok(day) => format!("{} {time}", self.date(day)),
            Err(_) => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_as_its_language_does_and_names_its_zone() {
        let at = "2026-11-08T09:05:59Z".parse().unwrap();
        for (language, moment) in [
            (Language::German, "8. Nov. 2026, 09:05 UTC"),
            (Language::English, "Nov 8, 2026, 09:05 UTC"),
            (Language::Spanish, "8 nov 2026, 09:05 UTC"),
            (Language::French, "8 nov. 2026, 09:05 UTC"),
            (Language::Italian, "8 nov 2026, 09:05 UTC"),
            (Language::Dutch, "8 nov 2026, 09:05 UTC"),
            (Language::Polish, "8 lis 2026, 09:05 UTC"),
            (Language::Portuguese, "8 de nov. de 2026, 09:05 UTC"),
            (Language::Turkish, "8 Kas 2026 09:05 UTC"),
            (Language::Arabic, "8 نوفمبر 2026، 09:05 UTC"),
            (Language::Chinese, "2026年11月8日 UTC 09:05"),
            (Language::Japanese, "2026年11月8日 09:05 UTC"),
        ] {
            assert_eq!(language.moment(at), moment);
        }
    }

    #[test]
    fn days_of_a_till_are_those_of_its_own_zone() {
        for (text, shown) in [
            ("2026-11-08", "8. Nov. 2026"),
            ("2026-11-08 23:59", "8. Nov. 2026 23:59"),
            ("14:05", "14:05"),
            ("", ""),
        ] {
            assert_eq!(Language::German.local(text), shown);
        }
    }
}
