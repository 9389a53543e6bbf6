//! The alert rules: valid, each fired on purpose, silent in calm, and each with its paragraph in
//! the runbook.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{deploy, prometheus::promtool, read};

pub(super) fn rules() -> Vec<Value> {
    let file: Value = serde_saphyr::from_str(&read("prometheus/alerts.yml")).unwrap();
    let groups = file["groups"].as_array().unwrap().iter();
    groups.flat_map(|group| group["rules"].as_array().unwrap().clone()).collect()
}

#[test]
fn prometheus_takes_the_configuration_and_the_rules() {
    let folder = deploy().join("prometheus");
    promtool(&folder, &["check", "config", "prometheus.yml"]);
    promtool(&folder, &["check", "rules", "alerts.yml"]);
}

#[test]
fn every_alert_fires_on_its_condition_and_none_on_an_idle_stack() {
    promtool(&deploy().join("prometheus"), &["test", "rules", "alerts.test.yml"]);
    // The file of cases misses no alert: each is fired once, and once expected to be silent.
    let file: Value = serde_saphyr::from_str(&read("prometheus/alerts.test.yml")).unwrap();
    let cases = file["tests"].as_array().unwrap().iter();
    let cases = cases.flat_map(|test| test["alert_rule_test"].as_array().unwrap());
    let (mut fired, mut silent) = (BTreeSet::new(), BTreeSet::new());
    for case in cases {
        let name = case["alertname"].as_str().unwrap().to_owned();
        let expected = case["exp_alerts"].as_array().unwrap();
        if expected.is_empty() { &mut silent } else { &mut fired }.insert(name);
    }
    let names: BTreeSet<_> =
        rules().iter().map(|rule| rule["alert"].as_str().unwrap().to_owned()).collect();
    assert_eq!(fired, names);
    assert_eq!(silent, names);
}

#[test]
fn every_alert_has_its_paragraph_in_the_runbook_and_every_paragraph_its_alert() {
    let runbook = read("RUNBOOK.md");
    let headings: BTreeSet<_> =
        runbook.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let rules = rules();
    let names: BTreeSet<_> = rules.iter().map(|rule| rule["alert"].as_str().unwrap()).collect();
    assert_eq!(headings, names);
    for rule in &rules {
        let name = rule["alert"].as_str().unwrap();
        let link = rule["annotations"]["runbook"].as_str().unwrap();
        assert_eq!(link, format!("deploy/RUNBOOK.md#{}", name.to_lowercase()));
        assert!(
            ["page", "ticket"].contains(&rule["labels"]["severity"].as_str().unwrap()),
            "{name}"
        );
        let (_, paragraph) = runbook.split_once(&format!("## {name}\n")).unwrap();
        let paragraph = paragraph.split("\n## ").next().unwrap();
        assert!(paragraph.len() > 100, "{name} is hardly explained: {paragraph}");
    }
}

/// Every command that a person copies from the runbook in an emergency must exist.
#[test]
fn every_command_that_the_runbook_names_exists() {
    let runbook = read("RUNBOOK.md").replace('\n', " ");
    let commands: BTreeSet<_> = runbook
        .split('`')
        .skip(1)
        .step_by(2)
        .filter_map(|code| code.strip_prefix("gatewayctl "))
        .collect();
    assert!(commands.len() >= 4, "{commands:?}");
    for command in commands {
        let done = std::process::Command::new(support::server::processes::program("gatewayctl"))
            .args(command.split_whitespace())
            .arg("--help")
            .output()
            .unwrap();
        assert!(done.status.success(), "gatewayctl {command}");
    }
}
