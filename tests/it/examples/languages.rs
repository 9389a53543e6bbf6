//! Each language's `check` program over the recorded deliveries, run by the language's own tools.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The folders of snippets, one per channel.
const CHANNELS: [&str; 2] = ["verify-ipn", "verify-payout-webhook"];

/// Found or installed by `scripts/languages.sh`.
pub(super) fn program(name: &str) -> Command {
    let script = root().join("scripts/languages.sh");
    let output = Command::new(script).arg(name).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "scripts/languages.sh found no {name}");
    Command::new(String::from_utf8(output.stdout).unwrap().trim())
}

/// Makes the check program of one language for a channel's folder.
pub(super) type Check = fn(&Path) -> Command;

/// The languages that have a snippet.
pub(super) const CHECKS: [(&str, Check); 5] =
    [("node", node), ("python", python), ("php", php), ("go", go), ("rust", rust)];

fn node(folder: &Path) -> Command {
    let mut check = program("node");
    check.arg(folder.join("node/check.mjs"));
    check
}

fn python(folder: &Path) -> Command {
    let mut check = program("python3");
    // -B: no folder of byte code beside the sources.
    check.arg("-B").arg(folder.join("python/check.py"));
    check
}

fn php(folder: &Path) -> Command {
    let mut check = program("php");
    check.arg(folder.join("php/check.php"));
    check
}

fn go(folder: &Path) -> Command {
    let mut check = program("go");
    // Inside target, so that no test needs a home folder; no checkout's version is stamped, so none
    // is asked for.
    check.current_dir(folder.join("go"));
    check.env("GOCACHE", target().join("go-cache")).env("GOFLAGS", "-buildvcs=false");
    check.args(["run", "."]);
    check
}

fn rust(folder: &Path) -> Command {
    let mut check = Command::new(env!("CARGO"));
    check.args(["run", "--quiet", "--locked", "--manifest-path"]);
    check.arg(folder.join("rust/Cargo.toml"));
    // Not the gateway's own: the cargo that runs this test may hold its lock.
    check.arg("--target-dir").arg(target().join("examples")).arg("--");
    check
}

/// The lines that a language's snippet prints about a recording.
#[track_caller]
pub(super) fn verdicts(check: Check, channel: &str, recording: &Path) -> Vec<String> {
    let mut check = check(&root().join("examples").join(channel));
    let output = check.arg(recording).stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{check:?}: {complaint}\n{said}");
    said.lines().map(str::to_owned).collect()
}

/// Runs a language's check program over each channel's recording, and compares.
#[track_caller]
fn comes_to_the_recorded_verdicts(check: Check) {
    for channel in CHANNELS {
        let recording = root().join("examples").join(channel).join("recorded.json");
        let said = verdicts(check, channel, &recording);
        let recorded: Value =
            serde_json::from_str(&std::fs::read_to_string(recording).unwrap()).unwrap();
        let text = |delivery: &Value, name: &str| delivery[name].as_str().unwrap().to_owned();
        let expected: Vec<_> = recorded["deliveries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|delivery| format!("{}: {}", text(delivery, "name"), text(delivery, "expected")))
            .collect();
        assert!(expected.len() > 20, "the recording of {channel} is almost empty");
        assert_eq!(said, expected, "{channel}");
    }
}

#[test]
fn node_comes_to_the_recorded_verdicts() {
    comes_to_the_recorded_verdicts(node);
}

#[test]
fn python_comes_to_the_recorded_verdicts() {
    comes_to_the_recorded_verdicts(python);
}

#[test]
fn php_comes_to_the_recorded_verdicts() {
    comes_to_the_recorded_verdicts(php);
}

#[test]
fn go_comes_to_the_recorded_verdicts() {
    comes_to_the_recorded_verdicts(go);
}

#[test]
fn rust_comes_to_the_recorded_verdicts() {
    comes_to_the_recorded_verdicts(rust);
}

/// A merchant with both channels has both files in one project.
#[test]
fn the_two_snippets_of_a_language_without_modules_name_nothing_alike() {
    for (language, files) in [
        ("php", ["verify_ipn.php", "verify_payout_webhook.php"]),
        ("go", ["verify_ipn.go", "verify_payout_webhook.go"]),
    ] {
        let [ipn, payout] = [0, 1].map(|n| {
            let path = root().join("examples").join(CHANNELS[n]).join(language).join(files[n]);
            names(&std::fs::read_to_string(path).unwrap())
        });
        assert!(ipn.len() >= 3 && payout.len() >= 3, "{ipn:?} {payout:?}");
        let both: Vec<_> = ipn.iter().filter(|name| payout.contains(name)).collect();
        assert!(both.is_empty(), "{language}: {both:?}");
    }
}

/// Top-level declarations of a PHP or Go file.
fn names(text: &str) -> Vec<String> {
    let words = ["const ", "function ", "final class ", "func ", "type ", "\tErr"];
    let declared = text.lines().filter_map(|line| {
        let rest = words.iter().find_map(|word| {
            let rest = line.strip_prefix(word)?;
            Some(if word.starts_with('\t') { line.trim() } else { rest })
        })?;
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        Some(rest[..end.unwrap_or(rest.len())].to_owned())
    });
    declared.collect()
}

fn target() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let found = program.ancestors().find(|folder| folder.ends_with("target"));
    found.map_or_else(|| root().join("target"), Path::to_owned)
}
