//! The table for people and the file for scripts.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use serde::Serialize;
use serde_json::Value;

/// Goal of a figure.
#[derive(Debug, Clone, Copy)]
pub enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

impl Goal {
    fn holds(self, figure: f64) -> bool {
        match self {
            Self::AtLeast(bound) => figure >= bound,
            Self::AtMost(bound) => figure <= bound,
        }
    }

    fn text(self, unit: &str) -> String {
        match self {
            Self::AtLeast(bound) => format!("≥ {bound}{unit}"),
            Self::AtMost(bound) => format!("≤ {bound}{unit}"),
        }
    }
}

/// One measure: medians of its rounds. The goal applies to the ratio to the limit, or to the value
/// itself.
#[derive(Serialize)]
struct Row {
    name: String,
    value: f64,
    unit: &'static str,
    limit: Option<&'static str>,
    limit_value: Option<f64>,
    ratio: Option<f64>,
    /// The least and the greatest of the rounds: of their ratios, or of their values if the goal
    /// applies to those or there is no limit.
    spread: [f64; 2],
    goal: Option<String>,
    holds: bool,
    rounds: Vec<Vec<f64>>,
}

/// Rounds of a measure: the figure, and the result of the limit's loop beside it.
#[derive(Default)]
pub struct Rounds(Vec<Vec<f64>>);

impl Rounds {
    pub fn add(&mut self, value: f64, limit: f64) {
        self.0.push(vec![value, limit]);
    }

    pub fn add_alone(&mut self, value: f64) {
        self.0.push(vec![value]);
    }

    fn column(&self, at: usize) -> Option<Vec<f64>> {
        self.0.iter().map(|round| round.get(at).copied()).collect()
    }
}

pub struct Report {
    rows: Vec<Row>,
    only: Option<String>,
    pub rounds: usize,
}

impl Report {
    pub fn from_environment() -> Self {
        let only = env::var("ONLY").ok().filter(|word| !word.is_empty());
        let rounds = env::var("ROUNDS").ok().and_then(|count| count.parse().ok()).unwrap_or(5);
        Self { rows: Vec::new(), only, rounds }
    }

    /// Returns true if a measure was requested, and prints its name while it runs: the whole takes
    /// minutes.
    pub fn wants(&self, name: &str) -> bool {
        let wanted = self.only.as_ref().is_none_or(|word| name.contains(word.as_str()));
        if wanted {
            eprintln!("  measuring {name} …");
        }
        wanted
    }

    /// Adds a measure whose goal applies to its ratio to `limit`: the median of the rounds' own
    /// ratios.
    pub fn ratio(
        &mut self,
        name: &str,
        unit: &'static str,
        limit: &'static str,
        goal: Goal,
        rounds: Rounds,
    ) {
        let row = Row::of(name, unit, Some(limit), rounds);
        let holds = goal.holds(row.ratio.unwrap());
        self.add(Row { goal: Some(goal.text(" ×")), holds, ..row });
    }

    /// Adds a measure whose goal applies to its value; a limit is shown beside it for comparison.
    pub fn value(
        &mut self,
        name: &str,
        unit: &'static str,
        limit: Option<&'static str>,
        goal: Goal,
        rounds: Rounds,
    ) {
        let spread = spread(&rounds.column(0).unwrap());
        let row = Row::of(name, unit, limit, rounds);
        let holds = goal.holds(row.value);
        self.add(Row { goal: Some(goal.text(&format!(" {unit}"))), holds, spread, ..row });
    }

    /// Adds a figure without a goal, for information.
    pub fn figure(&mut self, name: &str, unit: &'static str, rounds: Rounds) {
        self.add(Row::of(name, unit, None, rounds));
    }

    /// Adds a figure without a goal, with a limit beside it for comparison.
    pub fn beside(&mut self, name: &str, unit: &'static str, limit: &'static str, rounds: Rounds) {
        self.add(Row::of(name, unit, Some(limit), rounds));
    }

    /// Adds a row and says it at once: the whole takes long.
    fn add(&mut self, row: Row) {
        eprintln!("    {}", row.line());
        self.rows.push(row);
    }

    /// These rows, after those of earlier runs of other measures.
    fn with_earlier(&self, file: &Path) -> Vec<Value> {
        let earlier = fs::read_to_string(file).unwrap_or_default();
        let mut rows: Vec<Value> = serde_json::from_str(&earlier).unwrap_or_default();
        rows.retain(|row| self.rows.iter().all(|own| row["name"] != own.name.as_str()));
        rows.extend(self.rows.iter().map(|row| serde_json::to_value(row).unwrap()));
        rows
    }

    /// Prints the table and writes `.run/bench.json`. Exits 1 if a goal was missed.
    pub fn finish(self) {
        println!(
            "\n{:<60} {:>12} {:>10} {:>7} {:>15}  {:<10} ",
            "measure", "value", "limit", "ratio", "spread", "goal"
        );
        for row in &self.rows {
            println!("{}", row.line());
        }
        let mut limits: Vec<_> = self.rows.iter().filter_map(|row| row.limit).collect();
        limits.dedup();
        println!("\nLimits, in the order of the table: {}.", limits.join("; "));
        let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.run"));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("bench.json");
        fs::write(&file, serde_json::to_string_pretty(&self.with_earlier(&file)).unwrap()).unwrap();
        println!("Raw samples: .run/bench.json");
        if self.rows.iter().any(|row| !row.holds) {
            std::process::exit(1);
        }
    }
}

impl Row {
    /// Without a goal.
    fn of(name: &str, unit: &'static str, limit: Option<&'static str>, rounds: Rounds) -> Self {
        let values = rounds.column(0).unwrap();
        let limits = rounds.column(1).filter(|_| limit.is_some());
        let ratios = limits.as_ref().map(|limits| {
            values.iter().zip(limits).map(|(value, limit)| value / limit).collect::<Vec<_>>()
        });
        let spread = spread(ratios.as_ref().unwrap_or(&values));
        Self {
            name: name.to_owned(),
            value: median(values),
            unit,
            limit,
            limit_value: limits.map(median),
            ratio: ratios.map(median),
            spread,
            goal: None,
            holds: true,
            rounds: rounds.0,
        }
    }

    fn line(&self) -> String {
        let figure =
            |value: f64| if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") };
        let optional = |value: Option<f64>| value.map(figure).unwrap_or_default();
        let value = format!("{} {}", figure(self.value), self.unit);
        let [least, greatest] = self.spread.map(figure);
        let spread =
            if self.rounds.len() > 1 { format!("{least}–{greatest}") } else { String::new() };
        let holds = match &self.goal {
            Some(_) if self.holds => "holds",
            Some(_) => "MISSED",
            None => "",
        };
        format!(
            "{:<60} {value:>12} {:>10} {:>7} {spread:>15}  {:<10} {holds}",
            self.name,
            optional(self.limit_value),
            optional(self.ratio),
            self.goal.as_deref().unwrap_or_default()
        )
    }
}

fn spread(values: &[f64]) -> [f64; 2] {
    [
        values.iter().copied().fold(f64::INFINITY, f64::min),
        values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    ]
}

pub fn median(mut values: Vec<f64>) -> f64 {
    percentile(&mut values, 0.5)
}

/// The smallest value that at least `share` of all do not exceed.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
pub fn percentile(values: &mut [f64], share: f64) -> f64 {
    assert!(!values.is_empty(), "nothing was measured");
    values.sort_by(f64::total_cmp);
    let at = (share * values.len() as f64).ceil() as usize;
    values[at.clamp(1, values.len()) - 1]
}
