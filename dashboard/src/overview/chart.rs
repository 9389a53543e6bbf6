//! Pictures of the first page as inline SVG. The figures stand in a table beside each.
//!
//! Colours are the text's own and presentation attributes alone: the policy allows no inline style.

use std::fmt::Write;

use askama::filters::Safe;
use chrono::NaiveDate;
use rust_decimal::{Decimal, prelude::ToPrimitive};

const WIDTH: usize = 600;
const HEIGHT: u32 = 150;
/// Room of the line under the bars.
const BASE: u32 = 2;
/// The least height of a day with anything: it must be seen.
const LEAST: u32 = 3;
const GAP: usize = 4;

/// One bar for each day. `id` begins the ids of its title and its description.
pub fn bars(
    days: &[(NaiveDate, Decimal)],
    id: &str,
    title: &str,
    description: &str,
) -> Safe<String> {
    let most = days.iter().map(|(_, value)| *value).max().unwrap_or_default();
    let step = WIDTH / days.len().max(1);
    let (mut past, mut today) = (String::new(), String::new());
    for (at, (_, value)) in days.iter().enumerate() {
        let height = height(*value, most);
        if height > 0 {
            let bar = if at + 1 == days.len() { &mut today } else { &mut past };
            let (x, y, width) = (at * step + GAP / 2, HEIGHT - height, step.saturating_sub(GAP));
            let _infallible = write!(bar, "M{x} {y}h{width}v{height}h-{width}z");
        }
    }
    let (id, title, description) = (escaped(id), escaped(title), escaped(description));
    let (below, line) = (HEIGHT + BASE, HEIGHT + 1);
    Safe(format!(
        "<svg role=\"img\" aria-labelledby=\"{id}-title {id}-text\" viewBox=\"0 0 {WIDTH} {below}\" \
         preserveAspectRatio=\"none\"><title id=\"{id}-title\">{title}</title><desc id=\"{id}-text\">{description}</desc>\
         <path fill=\"currentColor\" d=\"{past}\"/><path fill=\"currentColor\" fill-opacity=\".55\" d=\"{today}\"/>\
         <path stroke=\"currentColor\" stroke-opacity=\".6\" d=\"M0 {line}h{WIDTH}\"/></svg>"
    ))
}

fn height(value: Decimal, most: Decimal) -> u32 {
    if value <= Decimal::ZERO || most.is_zero() {
        return 0;
    }
    let share = value.checked_div(most).and_then(|share| share.checked_mul(Decimal::from(HEIGHT)));
    let pixels = share.and_then(|share| share.round().to_u32()).unwrap_or(HEIGHT);
    pixels.clamp(LEAST, HEIGHT)
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

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn days(values: &[i64]) -> Vec<(NaiveDate, Decimal)> {
        let first = NaiveDate::from_ymd_opt(2026, 11, 1).unwrap();
        let days = first.iter_days().zip(values);
        days.map(|(day, value)| (day, Decimal::from(*value))).collect()
    }

    #[test]
    fn bars_are_as_high_as_their_share_and_an_empty_day_has_none() {
        let Safe(svg) = bars(&days(&[100, 0, 50, 1]), "usd", "USD per day", "text");
        assert!(svg.contains("M2 0h146v150h-146z"), "{svg}");
        assert!(svg.contains("M302 75h146v75h-146z"), "{svg}");
        assert!(svg.contains("d=\"M452 147h146v3h-146z\""), "today apart: {svg}");
        assert_eq!(svg.matches('M').count(), 4, "{svg}");
    }

    #[test]
    fn nothing_at_all_is_a_line_and_names_are_escaped() {
        let Safe(svg) = bars(&days(&[0, 0]), "a\"b", "<b>", "&");
        assert!(svg.contains("a&quot;b-title") && svg.contains("&lt;b&gt;"), "{svg}");
        assert_eq!(svg.matches('M').count(), 1, "{svg}");
        assert!(bars(&[], "x", "", "").0.contains("<svg"));
    }

    #[test]
    fn a_share_stays_within_its_line() {
        assert!(share(2_000).0.contains("M0 0h1000v10H0z\"/></svg>"));
        assert!(share(-1).0.contains("M0 0h0v10H0z"));
    }
}
