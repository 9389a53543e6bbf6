//! `tests/faults.md` names tests that exist.

use std::{collections::BTreeSet, path::Path};

const TABLE: &str = include_str!("../../faults.md");

/// The rows as (fault, tests).
fn rows() -> Vec<(&'static str, Vec<&'static str>)> {
    let rows = TABLE.lines().filter_map(|line| line.strip_prefix("| "));
    let rows = rows.filter_map(|row| row.split_once(' ')).filter(|(fault, _)| {
        fault.strip_prefix('F').is_some_and(|number| number.parse::<u8>().is_ok())
    });
    rows.map(|(fault, row)| (fault, row.split('`').skip(1).step_by(2).collect())).collect()
}

#[test]
fn every_fault_is_listed_once_and_with_a_test() {
    let rows = rows();
    let faults: BTreeSet<_> = rows.iter().map(|(fault, _)| fault).collect();
    assert_eq!(faults.len(), rows.len(), "a fault is listed twice");
    assert!(rows.len() > 30, "the table was not read");
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
                missing.push(format!("{fault}: {test}"));
            }
        }
    }
    assert!(missing.is_empty(), "no such test: {missing:#?}");
}
