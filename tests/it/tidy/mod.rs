//! Self-checks of the repository: rules that the compiler and clippy cannot check, but a reviewer
//! would.
//!
//! A rule here names the file and the line, and the correction. It reads text, not types, so it is
//! limited to rules that text can decide.

mod automation;
mod documents;
mod imports;
mod language;
mod manifests;
mod migrations;
mod secrets;
mod sources;
mod tree;

/// Fails with all findings at once, so that one run shows the whole work.
#[track_caller]
fn expect_none(rule: &str, found: &[String]) {
    assert!(found.is_empty(), "{rule}:\n  {}", found.join("\n  "));
}
