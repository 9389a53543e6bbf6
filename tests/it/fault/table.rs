//! `tests/faults.md` names tests that exist and that count their fault, and misses no fault.

use std::{
    collections::BTreeSet,
    fs,
    ops::RangeInclusive,
    path::{Path, PathBuf},
};

const TABLE: &str = include_str!("../../faults.md");

/// Faults that must have a test, by their numbers in the project's list of faults. Any other one
/// listed has to have a test too.
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

/// The file of a named test, and the test's name in it.
fn file_of(test: &str) -> (PathBuf, &str) {
    let (module, name) = test.rsplit_once("::").unwrap_or_default();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("it");
    let module = root.join(module.replace("::", "/"));
    let file = module.with_extension("rs");
    (if file.exists() { file } else { module.join("mod.rs") }, name)
}

#[test]
fn every_test_that_the_table_names_exists() {
    let mut missing = Vec::new();
    for (fault, tests) in rows() {
        for test in tests {
            let (file, name) = file_of(test);
            let text = fs::read_to_string(file).unwrap_or_default();
            if !text.contains(&format!("fn {name}()")) {
                missing.push(format!("F{fault}: {test}"));
            }
        }
    }
    assert!(missing.is_empty(), "no such test: {missing:#?}");
}

/// Text of a test's file and those beside it; for a chain also of the suite that all of them share.
fn around(file: &Path) -> String {
    let folder = file.parent().unwrap();
    let chains = Path::new(env!("CARGO_MANIFEST_DIR")).join("it/chain");
    let shared = folder.starts_with(&chains).then(|| chains.join("conformance"));
    let own = fs::read_to_string(file).unwrap();
    if counts(&own) {
        return own;
    }
    let folders = [folder.to_owned()].into_iter().chain(shared);
    let files = folders.flat_map(|folder| fs::read_dir(folder).unwrap());
    files.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap_or_default()).collect()
}

/// `make test-faults` fails a test that never calls it. This finds such a test before hours of
/// faults.
const COUNTS: [&str; 3] = ["fired(", "fired_as(", "died_at("];

fn counts(text: &str) -> bool {
    COUNTS.iter().any(|call| text.contains(call))
}

#[test]
fn every_test_in_the_table_counts_how_often_its_fault_happened() {
    let mut silent = BTreeSet::new();
    for test in rows().into_iter().flat_map(|(_, tests)| tests) {
        if !counts(&around(&file_of(test).0)) {
            silent.insert(test);
        }
    }
    assert!(silent.is_empty(), "nothing shows that their fault happened: {silent:#?}");
}
