//! `tests/faults.md` names tests that exist and misses no fault.

use std::{collections::BTreeSet, ops::RangeInclusive, path::Path};

const TABLE: &str = include_str!("../../faults.md");

/// Those that must be answered, by their numbers in the project's list of faults. Whatever else is listed has to have a test too.
const FAULTS: RangeInclusive<u8> = 1..=58;

/// The rows as (number of the fault, tests).
fn rows() -> Vec<(u8, Vec<&'static str>)> {
    let rows = TABLE.lines().filter_map(|line| line.strip_prefix("| F")?.split_once(' '));
    rows.filter_map(|(number, row)| {
        let tests = row.split('`').skip(1).step_by(2);
        Some((number.parse().ok()?, tests.collect()))
    })
    .collect()
}

#[test]
fn every_fault_is_listed_once_and_with_a_test() {
    let rows = rows();
    let listed: BTreeSet<_> = rows.iter().map(|(fault, _)| *fault).collect();
    assert_eq!(listed.len(), rows.len(), "a fault is listed twice");
    let missing: Vec<_> = FAULTS.filter(|fault| !listed.contains(fault)).collect();
    assert!(missing.is_empty(), "not in the table: {missing:?}");
    let bare: Vec<_> = rows.iter().filter(|(_, tests)| tests.is_empty()).collect();
    assert!(bare.is_empty(), "without a test: {bare:?}");
}

#[test]
fn every_test_that_the_table_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("it");
    let mut missing = Vec::new();
    for (fault, tests) in rows() {
        for test in tests {
            let (module, name) = test.rsplit_once("::").unwrap_or_default();
            let module = root.join(module.replace("::", "/"));
            let files = [module.with_extension("rs"), module.join("mod.rs")];
            let text = files.iter().find_map(|file| std::fs::read_to_string(file).ok());
            let text = text.unwrap_or_default();
            if !text.contains(&format!("fn {name}()")) {
                missing.push(format!("F{fault}: {test}"));
            }
        }
    }
    assert!(missing.is_empty(), "no such test: {missing:#?}");
}
