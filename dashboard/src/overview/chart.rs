//! Pictures of the first page: takings per day, and bars that show a share.

use askama::filters::Safe;
use chrono::NaiveDate;
use rust_decimal::{Decimal, prelude::ToPrimitive};

use super::money;
use crate::chart::{Chart, Kind, Series, Value};

/// Takings of each day in one fiat currency.
pub fn days(fiat: &str, days: &[(NaiveDate, Decimal)]) -> Chart {
    let code = fiat.to_uppercase();
    let sum = days.iter().fold(Decimal::ZERO, |sum, (_, value)| sum.saturating_add(*value));
    let best = days.iter().max_by_key(|(_, value)| *value);
    let best = best.map_or_else(String::new, |(day, value)| {
        format!(" The highest day was {day} with {}.", money(*value))
    });
    let value =
        |(_, value): &(NaiveDate, Decimal)| Value { units: cents(*value), text: money(*value) };
    Chart {
        id: match fiat {
            "usd" => "days-usd",
            "eur" => "days-eur",
            "gbp" => "days-gbp",
            _ => "days",
        },
        title: format!("{code} received per day"),
        description: format!("{} {code} in thirty days.{best}", money(sum)),
        kind: Kind::Bars,
        columns_are: "Day",
        columns: days.iter().map(|(day, _)| day.to_string()).collect(),
        series: vec![Series {
            name: format!("Received, {code}"),
            values: days.iter().map(value).collect(),
        }],
    }
}

fn cents(value: Decimal) -> u128 {
    let cents = value.checked_mul(Decimal::ONE_HUNDRED);
    cents.and_then(|cents| cents.trunc().to_u128()).unwrap_or(0)
}

/// A bar that fills its part of a line, in thousandths. The figure stands beside it.
pub fn share(per_mille: i64) -> Safe<String> {
    let part = per_mille.clamp(0, 1_000);
    Safe(format!(
        "<svg class=\"share\" viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
         <path fill=\"currentColor\" fill-opacity=\".18\" d=\"M0 0h1000v10H0z\"/>\
         <path fill=\"currentColor\" d=\"M0 0h{part}v10H0z\"/></svg>"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_as_high_as_its_cents_and_the_best_is_named() {
        let first = NaiveDate::from_ymd_opt(2026, 11, 1).unwrap();
        let values = ["100", "0", "1234.5"].map(|text| text.parse::<Decimal>().unwrap());
        let chart = days("usd", &first.iter_days().zip(values).collect::<Vec<_>>());
        let units: Vec<_> = chart.series[0].values.iter().map(|value| value.units).collect();
        assert_eq!(units, [10_000, 0, 123_450]);
        let words = "1,334.50 USD in thirty days. The highest day was 2026-11-03 with 1,234.50.";
        assert_eq!(chart.description, words);
    }

    #[test]
    fn a_share_stays_within_its_line() {
        assert!(share(2_000).0.contains("M0 0h1000v10H0z\"/></svg>"));
        assert!(share(-1).0.contains("M0 0h0v10H0z"));
    }
}
