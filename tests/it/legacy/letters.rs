//! IPNs of random fields, verified by Node, PHP and Python: over the raw bytes, and over the fields
//! that they read when those are encoded again.

use std::{
    fmt::Write as _,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use gateway::legacy::form;
use rand::{Rng, RngExt, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use serde_json::json;
use support::seed::seed;

use super::hmac;

const SETS: usize = 200;
const SECRET: &str = "an IPN secret";
const LETTERS: &[char] = &[
    'a', 'Z', '0', '-', '_', '.', '!', '\'', '(', ')', '*', '~', '&', '+', '=', '%', '#', ';', '?',
    '/', ':', '[', ']', '"', '<', '>', '\\', ' ', '\n', '\t', 'é', 'ß', 'Ж', '漢', '🦀', '\u{a0}',
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Fields with names of their own, in their order; some values are empty.
fn fields(random: &mut impl Rng) -> Vec<(String, String)> {
    let count = random.random_range(1..12);
    let mut fields = Vec::new();
    for number in 0..count {
        let length = random.random_range(0..24);
        let value = (0..length).map(|_| *LETTERS.choose(random).unwrap()).collect();
        fields.push((format!("field_{number}"), value));
    }
    fields
}

fn ipns() -> String {
    let mut random = StdRng::seed_from_u64(seed());
    let mut lines = String::new();
    for _ in 0..SETS {
        let fields = fields(&mut random);
        let body = form::encode(fields.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        let hmac = hmac(SECRET, body.as_bytes());
        let line = json!({ "body": body, "hmac": hmac, "secret": SECRET, "fields": fields });
        writeln!(lines, "{line}").unwrap();
    }
    lines
}

fn verified_by(language: &str, script: &str) {
    let found = Command::new(root().join("scripts/languages.sh")).arg(language).output().unwrap();
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
    let program = String::from_utf8(found.stdout).unwrap().trim().to_owned();
    let mut command = Command::new(program);
    command.arg(root().join("tests/legacy").join(script));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut reader = command.spawn().unwrap();
    let mut input = reader.stdin.take().unwrap();
    let writing = std::thread::spawn(move || input.write_all(ipns().as_bytes()));
    let ran = reader.wait_with_output().unwrap();
    let complaint = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{language}: {complaint}");
    writing.join().unwrap().unwrap();
    assert_eq!(String::from_utf8_lossy(&ran.stdout).trim(), SETS.to_string(), "{complaint}");
}

#[test]
fn node_verifies_random_fields() {
    verified_by("node", "letters.mjs");
}

#[test]
fn php_verifies_random_fields() {
    verified_by("php", "letters.php");
}

#[test]
fn python_verifies_random_fields() {
    verified_by("python3", "letters.py");
}
