//! Recorded replies, and variants without a recording.
//!
//! `recorded/*.json` are replies of Injective, a chain of the same kind at Tendermint 0.34 (base64
//! attributes, two lists of block events), from the tests of tendermint-rs; the results are cut to
//! one transaction. The newer format is that of the CometBFT 0.38 documentation.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::*;
use crate::chain::thorchain::wire::WireEnvelope;

fn read(block: &Value, results: &Value) -> String {
    let (block, results) = (block.to_string(), results.to_string());
    let block: WireBlock = serde_json::from_str(&block).unwrap();
    let mut body = body(&block).unwrap();
    let results: WireResults = serde_json::from_str(&results).unwrap();
    let count = results.txs_results.as_ref().map_or(0, Vec::len);
    body.tx_hashes.drain(..body.tx_hashes.len() - count);
    match transfers(&body, &results) {
        Err(reason) => format!("refused: {reason}\n"),
        Ok(transfers) => transfers
            .iter()
            .map(|t| format!("{} to {} {:?} {:?}\n", t.key, t.to, t.asset, t.amount))
            .collect(),
    }
}

#[track_caller]
fn check(results: &Value, expected: &Expect) {
    expected.assert_eq(&read(&block(), results));
}

fn block() -> Value {
    let text = include_str!("../recorded/block.json");
    serde_json::from_str::<Value>(text).unwrap()["result"].take()
}

fn results() -> Value {
    let text = include_str!("../recorded/block_results.json");
    serde_json::from_str::<Value>(text).unwrap()["result"].take()
}

#[test]
fn the_header_of_a_recorded_block() {
    let block = block().to_string();
    let body = body(&serde_json::from_str(&block).unwrap()).unwrap();
    assert!(body.is_complete);
    assert_eq!(body.chain_id, "injective-1");
    expect![[r#"
        BlockRef {
            height: 4555980,
            hash: "25177A063C58417A4D5B6630120E9D951343E307819C924F0E0D1F63AD58ABCA",
            parent_hash: "833940768A4AF829358D35E027F1D153DB7526DC4CBE93FDDDCF9C707F31EFF6",
            mined_at: 2021-11-14T12:43:33.099805791Z,
        }
    "#]]
    .assert_debug_eq(&body.header);
}

#[test]
fn a_block_that_lost_a_transaction_is_not_complete() {
    let mut block = block();
    block["block"]["data"]["txs"].as_array_mut().unwrap().pop();
    let block = block.to_string();
    assert!(!body(&serde_json::from_str(&block).unwrap()).unwrap().is_complete);
}

#[test]
fn recorded_events_of_a_transaction_and_of_a_block() {
    check(
        &results(),
        &expect![[r#"
        49B13DD5D8BC477C9C3BD14EA3987DB3C7FE2C0AF28B2ABB50B881578C3EECDD:3.0:inj to inj17xpfvakm2amg962yls6f84z3kell8c5l6s5ye9 Contract("inj") Units(200000000000000u)
        4555980:1.0:inj to inj17xpfvakm2amg962yls6f84z3kell8c5l6s5ye9 Contract("inj") Units(54688740222118024u)
        4555980:3.0:inj to inj1jv65s3grqf6v6jl3dp4t6c9t9rk99cd8dkncm8 Contract("inj") Units(56523171222118024u)
    "#]],
    );
}

/// One event of the newer format.
fn event(kind: &str, attributes: &[(&str, &str)]) -> Value {
    let attribute = |(key, value): &(&str, &str)| json!({ "key": key, "value": value });
    let attributes: Vec<Value> = attributes.iter().map(attribute).collect();
    json!({ "type": kind, "attributes": attributes })
}

fn executed(code: u32, events: &[Value]) -> Value {
    let result = json!({ "code": code, "gas_used": "1", "gas_wanted": "2", "events": events });
    json!({ "height": "4555980", "txs_results": [result] })
}

#[test]
fn triples_of_one_event_are_read_one_after_the_other() {
    let triples = [
        ("recipient", "fee"),
        ("sender", "a"),
        ("amount", "2000000rune"),
        ("recipient", "b"),
        ("sender", "a"),
        ("amount", "5rune"),
        ("msg_index", "0"),
    ];
    // With sorted attributes, the amount comes first.
    let sorted = [("amount", "7tcy,9x/ruji"), ("recipient", "c"), ("sender", "a")];
    check(
        &executed(0, &[event("transfer", &triples), event("transfer", &sorted)]),
        &expect![[r#"
            49B13DD5D8BC477C9C3BD14EA3987DB3C7FE2C0AF28B2ABB50B881578C3EECDD:0.0:rune to fee Native Units(2000000u)
            49B13DD5D8BC477C9C3BD14EA3987DB3C7FE2C0AF28B2ABB50B881578C3EECDD:0.1:rune to b Native Units(5u)
            49B13DD5D8BC477C9C3BD14EA3987DB3C7FE2C0AF28B2ABB50B881578C3EECDD:1.0:tcy to c Contract("tcy") Units(7u)
            49B13DD5D8BC477C9C3BD14EA3987DB3C7FE2C0AF28B2ABB50B881578C3EECDD:1.0:x/ruji to c Contract("x/ruji") Units(9u)
        "#]],
    );
}

#[test]
fn events_that_are_no_transfer_are_skipped() {
    let events = [
        event("coin_received", &[("receiver", "b"), ("amount", "5rune")]),
        event("transfer", &[("recipient", "b"), ("sender", "a"), ("amount", "")]),
        event("transfer", &[("recipient", "b"), ("sender", "a"), ("amount", "0rune")]),
        event("transfer", &[("recipient", "b"), ("sender", "a"), ("amount", "-5rune")]),
        event("transfer", &[("recipient", "b"), ("sender", "a"), ("amount", "5")]),
        event("transfer", &[("recipient", "b"), ("sender", "a"), ("amount", "1.5rune")]),
        event("transfer", &[("recipient", "b"), ("sender", "a")]),
        event("transfer", &[("recipient", "b"), ("amount", &format!("{}rune", "9".repeat(79)))]),
        json!({ "type": "transfer", "attributes": 7 }),
        json!({ "attributes": [{ "key": "", "value": "\n\u{1}" }] }),
        json!(null),
        event("transfer", &[("recipient", "b"), ("sender", "a"), ("amount", "6rune")]),
    ];
    check(
        &executed(0, &events),
        &expect![[r#"
        49B13DD5D8BC477C9C3BD14EA3987DB3C7FE2C0AF28B2ABB50B881578C3EECDD:11.0:rune to b Native Units(6u)
    "#]],
    );
    check(&executed(5, &events), &expect![[""]]);
}

#[test]
fn results_that_contradict_the_block_are_refused() {
    check(
        &executed(0, &[]),
        &expect![[r#"
        refused: transaction 49B13DD5D8BC477C9C3BD14EA3987DB3C7FE2C0AF28B2ABB50B881578C3EECDD succeeded without any event
    "#]],
    );
    let mut two = executed(0, &[event("tx", &[])]);
    let list = two["txs_results"].as_array_mut().unwrap();
    list.extend([json!({ "events": [] }), json!({}), json!({}), json!({})]);
    let text = block().to_string();
    let block: WireBlock = serde_json::from_str(&text).unwrap();
    let two = two.to_string();
    let refused = transfers(&body(&block).unwrap(), &serde_json::from_str(&two).unwrap());
    assert_eq!(refused.unwrap_err(), "4 transactions have 5 results");
}

#[test]
fn a_node_that_answers_null_for_empty_lists_is_understood() {
    let results: WireResults = serde_json::from_str(
        r#"{"height":"1","txs_results":null,"finalize_block_events":null,"begin_block_events":null}"#,
    )
    .unwrap();
    assert!(results.txs_results.is_none());
    let envelope: WireEnvelope = serde_json::from_str(
        r#"{"jsonrpc":"2.0","id":-1,"error":{"code":-32603,"message":"Internal error","data":"height 9 must be less than or equal to the current blockchain height 8"}}"#,
    )
    .unwrap();
    assert!(envelope.error.unwrap().data.unwrap().contains("must be less than or equal to"));
}
