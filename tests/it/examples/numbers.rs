//! Amounts survive receivers that parse and serialise again in JavaScript, as far as a double is
//! exact.

use std::process::{Command, Stdio};

use gateway::{
    invoice::payment::json_number, money::BaseUnits, webhook::canonical::to_canonical_json,
};
use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::TestRunner,
};
use serde_json::json;

use super::languages::program;

const AMOUNTS: usize = 2_000;
/// An amount due has at most 15 significant digits, which any double holds.
const UNITS_MAX: u128 = 999_999_999_999_999;

/// Reads lines of JSON, writes each again as JavaScript would.
const AGAIN: &str = "const lines = require('fs').readFileSync(0, 'utf8').trimEnd().split('\\n');\
                     for (const line of lines) console.log(JSON.stringify(JSON.parse(line)));";

fn corpus() -> Vec<String> {
    let mut runner = TestRunner::deterministic();
    // Below a millionth JavaScript writes an exponent; no minimum is anywhere near that.
    let amounts = (1_000_000_u128..=UNITS_MAX, 0_u32..=8);
    let mut lines: Vec<_> = (0..AMOUNTS)
        .map(|_| {
            let (units, decimals) = amounts.new_tree(&mut runner).expect("a case").current();
            let amount = json_number(&BaseUnits::new(units).to_decimal(decimals));
            to_canonical_json(&json!({ "actually_paid": amount, "pay_amount": amount }))
        })
        .collect();
    for edge in ["0", "0.000001", "0.1", "1.1", "100", "999999999999999", "9007199254.740993"] {
        lines.push(to_canonical_json(&json!({ "pay_amount": json_number(edge) })));
    }
    lines
}

#[test]
fn amounts_are_written_as_javascript_would_write_them_again() {
    let mut node = program("node");
    node.args(["-e", AGAIN]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let lines = corpus();
    let said = answer(node, &(lines.join("\n") + "\n"));
    assert_eq!(said.lines().collect::<Vec<_>>(), lines);
}

fn answer(mut command: Command, input: &str) -> String {
    use std::io::Write;
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writing = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}
