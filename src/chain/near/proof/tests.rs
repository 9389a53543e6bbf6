//! Two outcomes of the main network that are neighbours in their shard's tree, as recorded in the
//! tests of NEAR's lake framework for block 61321189, without their gas profiles. The third outcome
//! of the shard is left out here.

use serde_json::{Value, json};

use super::*;

fn outcome(id: &str, receipt: &str, proof: &Value) -> Value {
    json!({ "execution_outcome": {
        "block_hash": "DEK7XjDsduvDwVidshcJWGBGby7XLXozPagCgQDKmeae",
        "id": id,
        "outcome": {
            "executor_id": "aurora",
            "gas_burnt": 3_495_893_692_163_u64,
            "logs": ["signer_address Address(0xf2f3776b9f69a9302c897aec26b59027e01d36cc)"],
            "metadata": { "gas_profile": [], "version": 1 },
            "receipt_ids": [receipt],
            "status": { "Failure": { "ActionError": { "index": 0, "kind": { "FunctionCallError": {
                "ExecutionError": "Smart contract panicked: ERR_INCORRECT_NONCE"
            }}}}},
            "tokens_burnt": "349589369216300000000"
        },
        "proof": proof
    }})
}

fn step(direction: &str, hash: &str) -> Value {
    json!({ "direction": direction, "hash": hash })
}

fn recorded() -> Value {
    let above = step("Right", "8jvxAGSsjmHYa7FJYaJ1jMKvUmh78za26eVHz8hvxRsw");
    let first = json!([step("Right", "FEEcfY2E2ruvVStBcXxUeiMuoeR9yCMyLZv31rdwsna1"), above]);
    let second = json!([step("Left", "3pSPVSDTbF6mS2KtQPbnASqyRMzvCWGrL4vqAWsCxmbk"), above]);
    json!({ "shard_id": 1, "receipt_execution_outcomes": [
        outcome(
            "2z25CLgereaBad7WpJTjeHQvwjyvEUwoZxjtScWq57QM",
            "HYeX2craLtitRbrPyJRZk4uWR7D8BruUPkVUf6ufNbRL",
            &first
        ),
        outcome(
            "7eoqwRDXrzQVfH5Yr2HX6zZ1SLtZgDx3B8xJ926pCi3J",
            "2HQ4wrVKJeA7dRwbnAwTc5U5ZpdSqkxj4VD7LxSTdwT8",
            &second
        )
    ]})
}

/// The subtree below the common parent of the two, which is a tree of its own.
fn pair() -> Value {
    let mut shard = recorded();
    for outcome in shard["receipt_execution_outcomes"].as_array_mut().unwrap() {
        outcome["execution_outcome"]["proof"].as_array_mut().unwrap().pop();
    }
    shard
}

fn checked(shards: &[Value]) -> Result<(), String> {
    let header = json!({ "height": 1, "hash": "a", "prev_hash": "b", "timestamp_nanosec": "1" });
    let document = json!({ "block": { "header": header }, "shards": shards }).to_string();
    check(&serde_json::from_str(&document).unwrap())
}

fn told(shard: &mut Value, place: usize) -> &mut Value {
    &mut shard["receipt_execution_outcomes"][place]["execution_outcome"]
}

#[test]
fn recorded_neighbours_meet_in_the_node_above_them() {
    let mut shard = pair();
    let expected = hash("AVNkf9k9sMpQh4LMLpLxugth5Y5rgRePuK5oZvufTxQZ").unwrap();
    for place in 0..2 {
        let one = told(&mut shard, place).to_string();
        assert_eq!(leaf(&serde_json::from_str(&one).unwrap()).unwrap().root, expected);
    }
    assert_eq!(checked(&[shard]), Ok(()));
}

#[test]
fn a_missing_near_outcome_is_detected() {
    let missing = Err("outcomes of shard 1 are missing".to_owned());
    // The third of the shard.
    assert_eq!(checked(&[recorded()]), missing);
    for place in 0..2 {
        let mut shard = pair();
        shard["receipt_execution_outcomes"].as_array_mut().unwrap().remove(place);
        assert_eq!(checked(&[pair(), shard]), missing);
    }
    // Duplicating another one does not make up for it.
    let mut doubled = pair();
    doubled["receipt_execution_outcomes"][0] = doubled["receipt_execution_outcomes"][1].clone();
    assert_eq!(checked(&[doubled]), missing);
}

#[test]
fn a_transaction_s_near_outcome_is_proven_by_its_shard() {
    let mut shard = pair();
    let first = shard["receipt_execution_outcomes"].as_array_mut().unwrap().remove(0);
    let header = json!({ "chunk_hash": "c", "height_included": 1 });
    shard["chunk"] = json!({ "header": header, "transactions": [{ "outcome": first }] });
    assert_eq!(checked(&[shard]), Ok(()));
}

#[test]
fn an_altered_near_outcome_is_detected() {
    let changes: [fn(&mut Value); 4] = [
        |told| told["outcome"]["logs"] = json!([]),
        |told| told["outcome"]["logs"][0] = json!("another line"),
        |told| told["outcome"]["status"] = json!({ "SuccessValue": "" }),
        |told| told["outcome"]["executor_id"] = json!("another.near"),
    ];
    for change in changes {
        let mut shard = pair();
        change(told(&mut shard, 1));
        let altered = Err("an outcome of shard 1 was altered".to_owned());
        assert_eq!(checked(&[pair(), shard]), altered);
    }
}

#[test]
fn near_outcomes_whose_proof_cannot_be_checked_are_not_refused() {
    let mut unreadable = pair();
    told(&mut unreadable, 0)["outcome"]["gas_burnt"] = json!("more than before");
    let mut other_rule = pair();
    told(&mut other_rule, 0)["outcome"]["tokens_burnt"] = json!("1");
    let mut bare = pair();
    (0..2).for_each(|place| told(&mut bare, place)["proof"] = json!([]));
    let mut endless = pair();
    told(&mut endless, 0)["proof"] = json!(vec![step("Left", "1"); 500]);
    let empty = json!({ "shard_id": 1, "receipt_execution_outcomes": [] });
    for shard in [unreadable, other_rule, bare, endless, empty] {
        assert_eq!(checked(&[shard]), Ok(()));
    }
}
