//! Each language's `check` program over the recorded deliveries, run by the language's own tools.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn examples() -> PathBuf {
    root().join("examples/verify-ipn")
}

fn recorded() -> PathBuf {
    examples().join("recorded.json")
}

/// Found or installed by `scripts/languages.sh`.
pub(super) fn program(name: &str) -> Command {
    let script = root().join("scripts/languages.sh");
    let output = Command::new(script).arg(name).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "scripts/languages.sh found no {name}");
    Command::new(String::from_utf8(output.stdout).unwrap().trim())
}

#[track_caller]
fn comes_to_the_recorded_verdicts(mut check: Command) {
    let output = check.arg(recorded()).stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{check:?}: {complaint}\n{said}");

    let recorded: Value =
        serde_json::from_str(&std::fs::read_to_string(recorded()).unwrap()).unwrap();
    let expected: Vec<_> = recorded["deliveries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| format!("{}: {}", d["name"].as_str().unwrap(), d["expected"].as_str().unwrap()))
        .collect();
    assert!(expected.len() > 20, "the recording is almost empty");
    assert_eq!(said.lines().collect::<Vec<_>>(), expected, "{complaint}");
}

#[test]
fn node_comes_to_the_recorded_verdicts() {
    let mut check = program("node");
    check.arg(examples().join("node/check.mjs"));
    comes_to_the_recorded_verdicts(check);
}

#[test]
fn python_comes_to_the_recorded_verdicts() {
    let mut check = program("python3");
    // -B: no folder of byte code beside the sources.
    check.arg("-B").arg(examples().join("python/check.py"));
    comes_to_the_recorded_verdicts(check);
}

#[test]
fn php_comes_to_the_recorded_verdicts() {
    let mut check = program("php");
    check.arg(examples().join("php/check.php"));
    comes_to_the_recorded_verdicts(check);
}

#[test]
fn go_comes_to_the_recorded_verdicts() {
    let mut check = program("go");
    // Inside target, so that no test needs a home folder; no checkout's version is stamped, so none is asked for.
    check.current_dir(examples().join("go"));
    check.env("GOCACHE", target().join("go-cache")).env("GOFLAGS", "-buildvcs=false");
    check.args(["run", "."]);
    comes_to_the_recorded_verdicts(check);
}

#[test]
fn rust_comes_to_the_recorded_verdicts() {
    let mut check = Command::new(env!("CARGO"));
    check.args(["run", "--quiet", "--locked", "--manifest-path"]);
    check.arg(examples().join("rust/Cargo.toml"));
    // Not the gateway's own: the cargo that runs this test may hold its lock.
    check.arg("--target-dir").arg(target().join("examples")).arg("--");
    comes_to_the_recorded_verdicts(check);
}

fn target() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let found = program.ancestors().find(|folder| folder.ends_with("target"));
    found.map_or_else(|| root().join("target"), Path::to_owned)
}
