//! CI gives one commit one answer: fixed seeds, pinned actions, one toolchain.

use std::process::Command;

use super::{
    expect_none,
    tree::{files, root},
};

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn random_suites_and_fuzzing_run_fixed_seeds_in_ci() {
    let ci = read(".ci/run");
    for name in ["GATEWAY_TEST_SEED", "PROPTEST_RNG_SEED"] {
        let fixed = ci.split_once(&format!("{name}=${{{name}:-"));
        let seed = fixed.and_then(|(_, rest)| rest.split_once('}')).map(|(seed, _)| seed);
        assert!(seed.is_some_and(|seed| seed.parse::<u64>().is_ok()), "{name} is not fixed in CI");
        assert!(ci.contains(&format!("\"${name}\"")), "CI does not print {name}");
    }
    assert!(ci.contains("scripts/fuzz.sh --fixed"), "CI fuzzes from a fresh seed, or not at all");
}

/// A tag can be moved to other code; a commit cannot.
#[test]
fn every_action_is_pinned_by_its_commit() {
    let mut found = Vec::new();
    let mut uses = 0;
    for file in files().iter().filter(|file| file.path.starts_with(".github/workflows/")) {
        for (index, line) in file.text.lines().enumerate() {
            let Some((_, action)) = line.split_once("uses: ") else { continue };
            uses += 1;
            if !is_pinned(action) {
                found.push(format!("{}:{} {action}", file.path, index + 1));
            }
        }
    }
    assert!(uses > 5, "only {uses} actions were found");
    expect_none(
        "name the commit, and the version behind it: `owner/action@<40 hex> # v1.2.3`",
        &found,
    );
}

fn is_pinned(action: &str) -> bool {
    let Some((_, pin)) = action.split_once('@') else { return false };
    let Some((commit, version)) = pin.split_once(" # v") else { return false };
    commit.len() == 40
        && commit.bytes().all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase())
        && version.starts_with(|first: char| first.is_ascii_digit())
}

#[test]
fn an_action_by_its_tag_would_be_found() {
    let commit = "11bd71901bbe5b1630ceea73d27597364c9af683";
    assert!(is_pinned(&format!("actions/checkout@{commit} # v4.2.2")));
    for loose in ["actions/checkout@v4", "./local", &format!("actions/checkout@{commit}")] {
        assert!(!is_pinned(loose), "{loose}");
    }
}

#[test]
fn the_toolchain_is_one_version_everywhere() {
    let pinned = read("rust-toolchain.toml");
    let version = pinned
        .split_once("channel = \"")
        .and_then(|(_, rest)| rest.split_once('"'))
        .map(|(version, _)| version)
        .expect("a channel");
    let oldest = read("Cargo.toml");
    let minor = |version: &str| -> u32 { version.split('.').nth(1).unwrap().parse().unwrap() };
    let (_, oldest) = oldest.split_once("rust-version = \"").expect("the oldest version is named");
    assert!(minor(oldest.split('"').next().unwrap()) <= minor(version), "{version} is too old");
    let mut found = Vec::new();
    for file in files() {
        if file.path != "Dockerfile" && !file.path.starts_with(".github/workflows/") {
            continue;
        }
        for (index, line) in file.text.lines().enumerate() {
            if line.contains("rust:1.") && !line.contains(&format!("rust:{version}-")) {
                found.push(format!("{}:{} {}", file.path, index + 1, line.trim()));
            }
        }
    }
    expect_none(&format!("rust-toolchain.toml says {version}"), &found);
}

fn release_notes(tag: &str, changelog: &str) -> (bool, String) {
    let folder = support::server::scratch::Scratch::new();
    let file = folder.fresh("changelog");
    std::fs::write(&file, changelog).unwrap();
    let output = Command::new(root().join("scripts/release-notes.sh"))
        .arg(tag)
        .env("CHANGELOG", &file)
        .output()
        .unwrap();
    let text = if output.status.success() { output.stdout } else { output.stderr };
    (output.status.success(), String::from_utf8(text).unwrap())
}

#[test]
fn a_release_has_the_version_of_the_manifest_and_notes_of_its_own() {
    let tag = concat!("v", env!("CARGO_PKG_VERSION"));
    let version = env!("CARGO_PKG_VERSION");
    let changelog = format!(
        "# Changelog\n\n## Unreleased\n\nlater\n\n## {version} (2030-01-01)\n\nnow\n\n## 0.0.1\n\nbefore\n"
    );
    assert_eq!(release_notes(tag, &changelog), (true, "\nnow\n".to_owned()));
    let (released, complaint) = release_notes("v99.0.0", &changelog);
    assert!(!released && complaint.contains(version), "{complaint}");
    let (released, complaint) = release_notes(tag, "## Unreleased\n\nlater\n");
    assert!(!released && complaint.contains("no section"), "{complaint}");
}
