//! The repository checks itself: what the compiler and clippy cannot see, but a reviewer would.
//!
//! A rule here names the file and the line, and says what to do instead. It reads text, not types, so it stays with
//! rules that text can decide.

mod documents;
mod imports;
mod manifests;
mod secrets;
mod sources;
mod tree;

/// Fails with everything found at once, so that one run shows the whole work.
#[track_caller]
fn expect_none(rule: &str, found: &[String]) {
    assert!(found.is_empty(), "{rule}:\n  {}", found.join("\n  "));
}
