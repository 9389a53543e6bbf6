//! The dashboards: valid Grafana JSON, every panel explained, every expression about existing
//! metrics.
//!
//! Grafana itself is in no registry that the tests may use. Its queries are sent to a real
//! Prometheus instead: see [`super::metrics`].

use std::collections::BTreeSet;

use gateway::telemetry::measures::{Kind, MEASURES};
use serde_json::Value;

use super::{alerts::rules, deploy, read};

const BOARDS: [&str; 2] = ["grafana/overview.json", "grafana/delivery.json"];

pub(super) fn boards() -> Vec<Value> {
    BOARDS.iter().map(|path| serde_json::from_str(&read(path)).unwrap()).collect()
}

/// All expressions with their panels, as Grafana would send them for a scrape every few seconds.
pub(super) fn expressions() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for board in boards() {
        for panel in board["panels"].as_array().unwrap() {
            for target in panel["targets"].as_array().unwrap() {
                let expression = target["expr"].as_str().unwrap().replace("$__rate_interval", "1m");
                let title = panel["title"].as_str().unwrap();
                found.push((format!("{} / {title}", board["title"]), expression));
            }
        }
    }
    found
}

/// Functions of PromQL that are in use and have an underscore, as metrics do.
const FUNCTIONS: [&str; 3] = ["histogram_quantile", "count_values", "min_over_time"];

/// Names in an expression that can only be metrics: those before `{`, `[`, or a closing bracket
/// that are not functions.
fn named(expression: &str) -> BTreeSet<String> {
    let quoted: String = expression.split('"').step_by(2).collect::<Vec<_>>().join(" ");
    let words = quoted.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let is_measure = |word: &&str| word.contains('_') && !FUNCTIONS.contains(word);
    words.filter(is_measure).map(str::to_owned).collect()
}

/// Names as processes expose them: a histogram is three series.
pub(super) fn exposed_names() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (name, kind, _) in MEASURES {
        if *kind == Kind::Histogram {
            names.extend(["bucket", "sum", "count"].map(|part| format!("{name}_{part}")));
        } else {
            names.insert((*name).to_owned());
        }
    }
    names
}

#[test]
fn dashboards_and_alerts_name_only_existing_metrics_and_every_metric_is_used() {
    let known = exposed_names();
    let mut used = BTreeSet::new();
    let alerts = rules();
    let alerts = alerts.iter().map(|rule| {
        (rule["alert"].as_str().unwrap().to_owned(), rule["expr"].as_str().unwrap().to_owned())
    });
    for (place, expression) in expressions().into_iter().chain(alerts) {
        let names = named(&expression);
        // `up` is Prometheus' own.
        assert!(!names.is_empty() || expression.starts_with("up{"), "{place}: {expression}");
        for name in &names {
            assert!(known.contains(name), "{place} names {name}, which nothing exposes");
        }
        used.extend(names);
    }
    let unwatched: Vec<_> =
        MEASURES.iter().filter(|(name, ..)| !used.iter().any(|it| it.starts_with(name))).collect();
    assert!(unwatched.is_empty(), "nobody looks at {unwatched:?}");
}

#[test]
fn every_panel_says_what_it_shows_and_stands_beside_the_others() {
    let files = std::fs::read_dir(deploy().join("grafana")).unwrap().count();
    assert_eq!(files, BOARDS.len(), "list every dashboard here");
    let mut uids = BTreeSet::new();
    for board in boards() {
        assert!(uids.insert(board["uid"].as_str().unwrap().to_owned()));
        assert!(board["schemaVersion"].is_u64() && board["title"].is_string());
        let variables = board["templating"]["list"].as_array().unwrap();
        assert!(variables.iter().any(|variable| variable["name"] == "datasource"));
        let (mut ids, mut taken) = (BTreeSet::new(), BTreeSet::new());
        for panel in board["panels"].as_array().unwrap() {
            let title = panel["title"].as_str().unwrap();
            assert!(ids.insert(panel["id"].as_u64().unwrap()), "{title}");
            assert!(panel["description"].as_str().is_some_and(|text| text.len() > 5), "{title}");
            assert_eq!(panel["datasource"]["uid"], "${datasource}", "{title}");
            let at = |name: &str| panel["gridPos"][name].as_u64().unwrap();
            assert!(at("x") + at("w") <= 24, "{title} is too wide");
            for x in at("x")..at("x") + at("w") {
                for y in at("y")..at("y") + at("h") {
                    assert!(taken.insert((x, y)), "{title} covers another panel");
                }
            }
        }
    }
}
