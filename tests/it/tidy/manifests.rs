//! Dependencies: each with its reason, and some forbidden.

use super::expect_none;

/// A sentence of `Cargo.toml`: the first block was named by the user and needs no reason.
const REASONS_START: &str = "# From here on each dependency carries its reason";

/// Two sets of TLS and C libraries in one process, or code that only its author can fetch again.
const BANNED: &[(&str, &str)] = &[
    ("openssl-sys", "rustls does TLS here"),
    ("native-tls", "rustls does TLS here"),
    ("aws-lc-sys", "ring is the one provider"),
];

fn read(path: &str) -> String {
    std::fs::read_to_string(super::tree::root().join(path))
        .expect("the file is part of the repository")
}

/// A comment applies to the one dependency below it, or, ending in a colon, to all up to the next
/// blank line.
#[test]
fn every_dependency_carries_its_reason() {
    let manifest = read("Cargo.toml");
    let (_, reasoned) =
        manifest.split_once(REASONS_START).expect("the manifest marks where reasons begin");
    let (reasoned, _) = reasoned.split_once("\n[").expect("the section of dependencies ends");
    let (mut speaks_for, mut found) = (0_usize, Vec::new());
    for line in reasoned.lines().skip(1) {
        if let Some(comment) = line.strip_prefix('#') {
            speaks_for = if comment.ends_with(':') { usize::MAX } else { 1 };
        } else if line.is_empty() {
            speaks_for = 0;
        } else if !line.contains("path = ") {
            if speaks_for == 0 {
                found.push(line.split(' ').next().unwrap_or(line).to_owned());
            }
            speaks_for = speaks_for.saturating_sub(1);
        }
    }
    expect_none("say in one sentence why hand-writing it would be worse", &found);
}

#[test]
fn every_member_takes_its_dependencies_from_the_workspace() {
    let mut found = Vec::new();
    for path in [
        "Cargo.toml",
        "api/Cargo.toml",
        "dashboard/Cargo.toml",
        "workers/Cargo.toml",
        "tests/Cargo.toml",
        "tests/fuzz/Cargo.toml",
        "examples/shop/Cargo.toml",
    ] {
        let manifest = read(path);
        let mut section = "";
        for line in manifest.lines() {
            if line.starts_with('[') {
                section = line;
            } else if section.ends_with("dependencies]")
                && section != "[workspace.dependencies]"
                && line.contains('=')
                && !line.contains("workspace = true")
            {
                found.push(format!("{path}: {line}"));
            }
        }
    }
    expect_none("declare these in the workspace, with their reason", &found);
}

#[test]
fn no_banned_dependency_is_in_the_lock_file() {
    let lock = read("Cargo.lock");
    let mut found: Vec<_> = BANNED
        .iter()
        .filter(|(name, _)| lock.contains(&format!("\nname = \"{name}\"\n")))
        .map(|(name, reason)| format!("{name}: {reason}"))
        .collect();
    let sources = lock.lines().filter(|line| line.starts_with("source = "));
    let foreign = sources
        .filter(|line| !line.contains("registry+https://github.com/rust-lang/crates.io-index"));
    found.extend(foreign.map(|line| format!("{line}: only crates.io is a source")));
    expect_none("these must not be in the tree", &found);
}

/// Two features of serde_json that any package in the tree could switch for all of them.
#[test]
fn json_sorts_its_keys_and_keeps_digits_as_they_were_sent() {
    let parsed: serde_json::Value =
        serde_json::from_str(r#"{"b": 1.10, "a": 0.000000000000000001}"#).expect("it is JSON");
    assert_eq!(parsed.to_string(), r#"{"a":0.000000000000000001,"b":1.10}"#);
}
