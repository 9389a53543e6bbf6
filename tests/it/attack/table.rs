//! `tests/attacks.md` names only existing tests and misses no attack.

use std::{collections::BTreeSet, path::Path};

const TABLE: &str = include_str!("../../attacks.md");

/// Attacks that must have a test; others may be listed beside them. The numbers are those of the
/// project's list of attacks.
const ATTACKS: [&str; 57] = [
    "A4", "A5", "A11", "A13", "A14", "A15", "A16", "A17", "A18", "A19", "A20", "A21", "A22", "A23",
    "A24", "A25", "A26", "A27", "A32", "A33", "A34", "A35", "A36", "A37", "A49", "A50", "A51",
    "A52", "A53", "A54", "A55", "A56", "A60", "A62", "A63", "A64", "A1", "A2", "A3", "A12", "A30",
    "A38", "A39", "A40", "A41", "A42", "A44", "A45", "A46", "A47", "A48", "A57", "A58", "A61",
    "A28", "A29", "A31",
];

/// The rows as (attack, tests).
fn rows() -> Vec<(String, Vec<(&'static str, &'static str)>)> {
    let rows = TABLE.lines().filter_map(|line| line.strip_prefix("| A"));
    rows.filter(|row| row.starts_with(|c: char| c.is_ascii_digit()))
        .map(|row| {
            let number = row.split(' ').next().unwrap_or(row);
            let names = row.split('`').skip(1).step_by(2).filter_map(|name| name.split_once("::"));
            (format!("A{number}"), names.collect())
        })
        .collect()
}

#[test]
fn every_attack_has_its_tests() {
    let rows = rows();
    let listed: Vec<_> = rows.iter().map(|(attack, _)| attack.as_str()).collect();
    let unique: BTreeSet<_> = listed.iter().copied().collect();
    assert_eq!(unique.len(), listed.len(), "an attack is listed twice");
    let missing: Vec<_> = ATTACKS.iter().filter(|attack| !unique.contains(*attack)).collect();
    assert!(missing.is_empty(), "not in the table: {missing:?}");
    let bare: Vec<_> = rows.iter().filter(|(_, tests)| tests.is_empty()).collect();
    assert!(bare.is_empty(), "without a test: {bare:?}");
}

#[test]
fn every_test_that_the_table_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut missing = Vec::new();
    for (attack, tests) in rows() {
        for (file, name) in tests {
            let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
            let is_test =
                text.split("#[test]").chain(text.split("#[tokio::test")).skip(1).any(|rest| {
                    let signature = rest.lines().find(|line| line.contains("fn "));
                    signature.is_some_and(|line| line.contains(&format!("fn {name}(")))
                });
            if !is_test {
                missing.push(format!("{attack}: {file}::{name}"));
            }
        }
    }
    assert!(missing.is_empty(), "no such test: {missing:#?}");
}
