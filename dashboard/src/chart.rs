//! Charts: drawn here as SVG, with the figures in a table beside it. A page includes `chart.html`
//! where a variable `chart` is in scope.
//!
//! Heights are computed in whole numbers. Labels stand outside of the drawing, which stretches to
//! the width of the page: within it they would shrink on a phone.

use std::fmt::Write;

/// Units of the drawing, which the page stretches.
const WIDTH: u128 = 1200;
const HEIGHT: u128 = 200;
/// The classes of the first, second and third series in the style sheet.
const CLASSES: [&str; 3] = ["one", "two", "three"];
/// Lines differ by their dashes too, not by colour alone.
const DASHES: [&str; 3] = ["", "8 5", "2 5"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Amounts per day and the like, side by side.
    Bars,
    /// Measurements that rise and fall.
    Lines,
}

/// A figure: its height in the drawing, and the text of the table.
#[derive(Debug, Clone)]
pub struct Value {
    /// In the smallest units of its series, so that heights are exact.
    pub units: u128,
    pub text: String,
}

#[derive(Debug, Clone)]
pub struct Series {
    pub name: String,
    /// One for each column.
    pub values: Vec<Value>,
}

/// A chart of at most three series, all in one unit.
#[derive(Debug, Clone)]
pub struct Chart {
    /// Unique within its page.
    pub id: &'static str,
    pub title: String,
    /// A sentence about the drawing, for those who do not see it.
    pub description: String,
    pub kind: Kind,
    /// Heading of the first column of the table.
    pub columns_are: &'static str,
    pub columns: Vec<String>,
    pub series: Vec<Series>,
}

/// A bar of the drawing.
pub struct Bar {
    pub x: u128,
    pub y: u128,
    pub width: u128,
    pub height: u128,
    pub class: &'static str,
    pub title: String,
}

/// A line of the drawing.
pub struct Line {
    pub path: String,
    pub class: &'static str,
    pub dashes: &'static str,
}

impl Chart {
    fn highest(&self) -> Option<&Value> {
        let values = self.series.iter().flat_map(|series| &series.values);
        values.max_by_key(|value| value.units)
    }

    /// The text of the highest value, which the top of the drawing stands for.
    pub fn top(&self) -> &str {
        self.highest().map_or("", |value| value.text.as_str())
    }

    pub fn is_empty(&self) -> bool {
        self.highest().is_none_or(|value| value.units == 0)
    }

    pub fn has_bars(&self) -> bool {
        self.kind == Kind::Bars
    }

    pub fn first(&self) -> &str {
        self.columns.first().map_or("", String::as_str)
    }

    pub fn middle(&self) -> &str {
        let middle = self.columns.get(self.columns.len() / 2).filter(|_| self.columns.len() > 4);
        middle.map_or("", String::as_str)
    }

    pub fn last(&self) -> &str {
        self.columns.last().filter(|_| self.columns.len() > 1).map_or("", String::as_str)
    }

    /// Names of the series with their classes and dashes, if there is more than one.
    pub fn keys(&self) -> Vec<(&str, &'static str, &'static str)> {
        let names = self.series.iter().zip(CLASSES.into_iter().zip(DASHES));
        let keys = names.map(|(series, (class, dashes))| (series.name.as_str(), class, dashes));
        if self.series.len() > 1 { keys.collect() } else { Vec::new() }
    }

    fn height_of(&self, value: &Value) -> u128 {
        let top = self.highest().map_or(1, |highest| highest.units.max(1));
        // Of amounts beyond 120 bits the low digits are not seen in 200 steps.
        let shift = (128 - top.leading_zeros()).saturating_sub(112);
        let height = (value.units >> shift) * HEIGHT / (top >> shift).max(1);
        // What is more than nothing is seen.
        if value.units > 0 { height.clamp(2, HEIGHT) } else { 0 }
    }

    pub fn bars(&self) -> Vec<Bar> {
        let count = |length: usize| u128::try_from(length).unwrap_or(1).max(1);
        let step = WIDTH / count(self.columns.len());
        let width = (step * 3 / 4 / count(self.series.len())).max(1);
        let mut bars = Vec::new();
        for (series, (class, place)) in self.series.iter().zip(CLASSES.into_iter().zip(0_u128..)) {
            for ((value, column), index) in series.values.iter().zip(&self.columns).zip(0_u128..) {
                let height = self.height_of(value);
                if height > 0 {
                    bars.push(Bar {
                        x: index * step + step / 8 + place * width,
                        y: HEIGHT - height,
                        width,
                        height,
                        class,
                        title: format!("{column}: {}", value.text),
                    });
                }
            }
        }
        bars
    }

    pub fn lines(&self) -> Vec<Line> {
        let gaps = u128::try_from(self.columns.len()).unwrap_or(2).max(2) - 1;
        let styles = CLASSES.into_iter().zip(DASHES);
        let drawn = self.series.iter().zip(styles).map(|(series, (class, dashes))| {
            let mut path = String::new();
            for (value, index) in series.values.iter().zip(0_u128..) {
                let letter = if index == 0 { 'M' } else { 'L' };
                let (x, y) = (index * WIDTH / gaps, HEIGHT - self.height_of(value));
                // Writing to a string cannot fail.
                let _ = write!(path, "{letter}{x} {y}");
            }
            Line { path, class, dashes }
        });
        drawn.collect()
    }

    /// The rows of the table: a column's name and the figures of all series.
    pub fn rows(&self) -> Vec<(&str, Vec<&str>)> {
        let text = |index: usize| {
            let values = self.series.iter().map(move |series| series.values.get(index));
            values.map(|value| value.map_or("–", |value| value.text.as_str())).collect()
        };
        let columns = self.columns.iter().enumerate();
        columns.map(|(index, column)| (column.as_str(), text(index))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(kind: Kind, series: &[&[u128]]) -> Chart {
        let value = |units: &u128| Value { units: *units, text: format!("{units} EUR") };
        Chart {
            id: "c",
            title: "Taken".to_owned(),
            description: "Taken per day.".to_owned(),
            kind,
            columns_are: "Day",
            columns: (1..=series[0].len()).map(|day| format!("day {day}")).collect(),
            series: series
                .iter()
                .map(|values| Series {
                    name: "s".to_owned(),
                    values: values.iter().map(value).collect(),
                })
                .collect(),
        }
    }

    #[test]
    fn the_highest_bar_fills_the_drawing_and_a_small_one_is_seen() {
        let bars = chart(Kind::Bars, &[&[0, 1, 500, 1000]]).bars();
        let seen: Vec<_> = bars.iter().map(|bar| (bar.height, bar.y)).collect();
        assert_eq!(seen, [(2, 198), (100, 100), (200, 0)]);
        assert!(bars.iter().all(|bar| bar.x + bar.width <= WIDTH));
        assert_eq!(bars[2].title, "day 4: 1000 EUR");
    }

    #[test]
    fn amounts_of_any_size_are_drawn_within_the_drawing() {
        for top in [1, 7, u128::from(u64::MAX), u128::MAX / 3, u128::MAX] {
            let bars = chart(Kind::Bars, &[&[top, top / 2, 0]]).bars();
            assert_eq!(bars[0].height, HEIGHT, "{top}");
            assert!(bars.iter().all(|bar| bar.height + bar.y == HEIGHT), "{top}");
        }
    }

    #[test]
    fn lines_begin_and_end_at_the_edges() {
        let chart = chart(Kind::Lines, &[&[0, 10, 5], &[10, 10, 10]]);
        let lines = chart.lines();
        assert_eq!(lines[0].path, "M0 200L600 0L1200 100");
        assert_eq!(lines[1].path, "M0 0L600 0L1200 0");
        assert_ne!(lines[0].dashes, lines[1].dashes);
        assert_eq!(chart.rows()[1], ("day 2", vec!["10 EUR", "10 EUR"]));
    }

    #[derive(askama::Template)]
    #[template(source = "{% include \"chart.html\" %}", ext = "html")]
    struct Page {
        chart: Chart,
    }

    #[test]
    fn a_drawing_has_a_name_a_table_and_nothing_that_the_policy_forbids() {
        for kind in [Kind::Bars, Kind::Lines] {
            let mut chart = chart(kind, &[&[1, 2], &[3, 0]]);
            chart.title = "<script>".to_owned();
            let html = askama::Template::render(&Page { chart }).unwrap();
            for part in ["role=\"img\"", "<title id=\"c-title\">", "<desc id=\"c-desc\">", "<table"]
            {
                assert!(html.contains(part), "{part}: {html}");
            }
            assert!(!html.contains("style=") && !html.contains("<script"), "{html}");
            assert_eq!(html.matches("3 EUR").count(), if kind == Kind::Bars { 3 } else { 2 });
        }
        let html = askama::Template::render(&Page { chart: chart(Kind::Bars, &[&[0]]) }).unwrap();
        assert!(html.contains("Nothing yet."), "{html}");
    }

    #[test]
    fn a_chart_of_nothing_says_so() {
        assert!(chart(Kind::Bars, &[&[]]).is_empty());
        assert!(chart(Kind::Bars, &[&[0, 0]]).is_empty());
        assert!(!chart(Kind::Bars, &[&[0, 1]]).is_empty());
    }
}
