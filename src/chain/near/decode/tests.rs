//! A recorded outcome, and the results of changing single fields.
//!
//! `REFUND` is from NEAR's documentation of its indexer framework: a block of the test network,
//! with its chunk header cut to the fields in use. The server adds `tx_hash`, as its documentation
//! says.

use base64::{Engine, prelude::BASE64_STANDARD};
use expect_test::{Expect, expect};
use serde_json::{Value, json};

const REFUND: &str = r#"{
  "execution_outcome": {
    "block_hash": "AmxdtieJo1WPrX14VRpQJR3QDAapWgVo4PJweA1uQ24d",
    "id": "43AdHUEWrfEB9kBAapZFqQhJhRrsZ2wGs87FGRCyV7mT",
    "outcome": {
      "executor_id": "amberdata.testnet", "gas_burnt": 223182562500, "logs": [],
      "metadata": { "gas_profile": [], "version": 1 }, "receipt_ids": [],
      "status": { "SuccessValue": "" }, "tokens_burnt": "0"
    },
    "proof": []
  },
  "receipt": {
    "predecessor_id": "system",
    "receipt": { "Action": {
      "actions": [{ "Transfer": { "deposit": "117179811448765875000" } }],
      "gas_price": "0", "input_data_ids": [], "output_data_receivers": [],
      "signer_id": "amberdata.testnet",
      "signer_public_key": "ed25519:HakbHwGjynqqEJ3GMCJwZJAUQenqQMDfA8b4sPQMBtnz"
    } },
    "receipt_id": "43AdHUEWrfEB9kBAapZFqQhJhRrsZ2wGs87FGRCyV7mT",
    "receiver_id": "amberdata.testnet"
  }
}"#;

fn read(execution: &Value) -> String {
    let raw = serde_json::value::to_raw_value(execution).unwrap();
    match super::execution(&raw) {
        Err(reason) => format!("put aside: {reason}\n"),
        Ok(transfers) => transfers
            .iter()
            .map(|t| {
                format!("{} in {} to {} {:?} {:?}\n", t.key, t.tx_hash, t.to, t.asset, t.amount)
            })
            .collect(),
    }
}

/// The recorded outcome after `change`.
#[track_caller]
fn check(change: impl FnOnce(&mut Value), expected: &Expect) {
    let mut execution = serde_json::from_str(REFUND).unwrap();
    change(&mut execution);
    expected.assert_eq(&read(&execution));
}

#[test]
fn a_near_gas_refund_pays_nothing_and_a_transfer_of_the_same_amount_does() {
    check(|_| (), &expect![[""]]);
    check(
        |e| e["receipt"]["predecessor_id"] = json!("buyer.testnet"),
        &expect![[r#"
        43AdHUEWrfEB9kBAapZFqQhJhRrsZ2wGs87FGRCyV7mT:0 in 43AdHUEWrfEB9kBAapZFqQhJhRrsZ2wGs87FGRCyV7mT to amberdata.testnet Native Units(117179811448765875000u)
    "#]],
    );
    check(
        |e| {
            e["receipt"]["predecessor_id"] = json!("buyer.testnet");
            e["tx_hash"] = json!("9FtHUFBQsZ2MG77K3x3MJ9wjX3UT8zE1TczCrhZEcG8U");
            let actions =
                json!(["CreateAccount", { "Transfer": { "deposit": "7" } }, { "AddKey": {} }]);
            e["receipt"]["receipt"]["Action"]["actions"] = actions;
        },
        &expect![[r#"
            43AdHUEWrfEB9kBAapZFqQhJhRrsZ2wGs87FGRCyV7mT:1 in 9FtHUFBQsZ2MG77K3x3MJ9wjX3UT8zE1TczCrhZEcG8U to amberdata.testnet Native Units(7u)
        "#]],
    );
}

#[test]
fn only_a_success_pays() {
    for status in [
        json!({ "Failure": { "ActionError": { "index": 0, "kind": "x" } } }),
        json!("Unknown"),
        json!({}),
        json!(null),
    ] {
        check(
            |e| {
                e["receipt"]["predecessor_id"] = json!("buyer.testnet");
                e["execution_outcome"]["outcome"]["status"] = status;
            },
            &expect![[""]],
        );
    }
    check(
        |e| {
            e["receipt"]["predecessor_id"] = json!("buyer.testnet");
            let later =
                json!({ "SuccessReceiptId": "43AdHUEWrfEB9kBAapZFqQhJhRrsZ2wGs87FGRCyV7mT" });
            e["execution_outcome"]["outcome"]["status"] = later;
        },
        &expect![[r#"
            43AdHUEWrfEB9kBAapZFqQhJhRrsZ2wGs87FGRCyV7mT:0 in 43AdHUEWrfEB9kBAapZFqQhJhRrsZ2wGs87FGRCyV7mT to amberdata.testnet Native Units(117179811448765875000u)
        "#]],
    );
}

#[test]
fn tokens_move_in_the_log_of_their_contract() {
    let line = |event: &str, data: Value| {
        let event =
            json!({ "standard": "nep141", "version": "1.0.0", "event": event, "data": data });
        format!("EVENT_JSON:{event}")
    };
    check(
        |e| {
            e["receipt"]["predecessor_id"] = json!("buyer.testnet");
            e["receipt"]["receipt"] = json!({ "Data": { "data": null, "data_id": "x" } });
            e["execution_outcome"]["outcome"]["logs"] = json!([
                "Transfer 5 from a to b",
                line(
                    "ft_transfer",
                    json!([
                        { "old_owner_id": "a", "new_owner_id": "b", "amount": "5", "memo": "\u{1F600}" },
                        { "old_owner_id": "a", "new_owner_id": "c", "amount": "0" },
                        { "old_owner_id": "a", "new_owner_id": "c", "amount": "6" }
                    ])
                ),
                line("ft_mint", json!([{ "owner_id": "b", "amount": "7" }])),
                line("ft_burn", json!([{ "owner_id": "b", "amount": "8" }])),
                "EVENT_JSON:",
                "EVENT_JSON:{\"standard\":\"nep141\",\"event\":\"ft_transfer\",\"data\":7}"
            ]);
        },
        &expect![[r#"
            43AdHUEWrfEB9kBAapZFqQhJhRrsZ2wGs87FGRCyV7mT:log:1.0 in 43AdHUEWrfEB9kBAapZFqQhJhRrsZ2wGs87FGRCyV7mT to b Contract("amberdata.testnet") Units(5u)
            43AdHUEWrfEB9kBAapZFqQhJhRrsZ2wGs87FGRCyV7mT:log:1.2 in 43AdHUEWrfEB9kBAapZFqQhJhRrsZ2wGs87FGRCyV7mT to c Contract("amberdata.testnet") Units(6u)
            43AdHUEWrfEB9kBAapZFqQhJhRrsZ2wGs87FGRCyV7mT:log:2.0 in 43AdHUEWrfEB9kBAapZFqQhJhRrsZ2wGs87FGRCyV7mT to b Contract("amberdata.testnet") Units(7u)
        "#]],
    );
}

/// Transfers of a token contract's receipt to `ours` and `other` for the given `calls`.
#[track_caller]
fn check_calls(calls: &[(&str, &str)], expected: &Expect) {
    let call = |(method, args): &(&str, &str)| {
        let args = BASE64_STANDARD.encode(args);
        json!({ "FunctionCall": {
            "method_name": method, "args": args, "gas": 30_000_000_000_000_u64, "deposit": "1"
        }})
    };
    let moved = |to: &str| {
        let data = json!([{ "old_owner_id": "buyer", "new_owner_id": to, "amount": "5" }]);
        let event = json!({ "standard": "nep141", "event": "ft_transfer", "data": data });
        format!("EVENT_JSON:{event}")
    };
    check(
        |e| {
            e["receipt"]["predecessor_id"] = json!("exchange.testnet");
            let calls: Vec<_> = calls.iter().map(call).collect();
            e["receipt"]["receipt"]["Action"]["actions"] = json!(calls);
            e["execution_outcome"]["outcome"]["logs"] = json!([moved("ours"), moved("other")]);
        },
        expected,
    );
}

#[test]
fn near_tokens_whose_transfer_call_is_not_resolved_pay_nothing() {
    const LENT: (&str, &str) =
        ("ft_transfer_call", r#"{"receiver_id":"\u006furs","amount":"5","msg":""}"#);
    let both = expect![[r#"
        43AdHUEWrfEB9kBAapZFqQhJhRrsZ2wGs87FGRCyV7mT:log:0.0 in 43AdHUEWrfEB9kBAapZFqQhJhRrsZ2wGs87FGRCyV7mT to ours Contract("amberdata.testnet") Units(5u)
        43AdHUEWrfEB9kBAapZFqQhJhRrsZ2wGs87FGRCyV7mT:log:1.0 in 43AdHUEWrfEB9kBAapZFqQhJhRrsZ2wGs87FGRCyV7mT to other Contract("amberdata.testnet") Units(5u)
    "#]];
    let other = expect![[r#"
        43AdHUEWrfEB9kBAapZFqQhJhRrsZ2wGs87FGRCyV7mT:log:1.0 in 43AdHUEWrfEB9kBAapZFqQhJhRrsZ2wGs87FGRCyV7mT to other Contract("amberdata.testnet") Units(5u)
    "#]];
    let pays = ("ft_transfer", r#"{"receiver_id":"ours","amount":"5"}"#);
    check_calls(&[pays], &both);
    check_calls(&[("swap_and_pay", "")], &both);
    check_calls(&[LENT], &other);
    check_calls(&[("storage_deposit", "{}"), LENT], &other);
    check_calls(&[LENT, pays], &other);
    check_calls(
        &[pays, ("ft_transfer_call", r#"{"receiver_id":"other","amount":"5","msg":""}"#)],
        &expect![[r#"
            43AdHUEWrfEB9kBAapZFqQhJhRrsZ2wGs87FGRCyV7mT:log:0.0 in 43AdHUEWrfEB9kBAapZFqQhJhRrsZ2wGs87FGRCyV7mT to ours Contract("amberdata.testnet") Units(5u)
        "#]],
    );
    for unreadable in ["", "{}", "[7]", r#"{"receiver_id":7}"#] {
        check_calls(&[("ft_transfer_call", unreadable)], &expect![[""]]);
    }
}

#[test]
fn an_unreadable_near_outcome_is_skipped() {
    check(
        |e| e["execution_outcome"]["id"] = json!("another"),
        &expect![[r#"
        put aside: the outcome of another stands beside 43AdHUEWrfEB9kBAapZFqQhJhRrsZ2wGs87FGRCyV7mT
    "#]],
    );
    check(
        |e| {
            e["receipt"]["predecessor_id"] = json!("buyer.testnet");
            e["receipt"]["receipt"]["Action"]["actions"][0]["Transfer"]["deposit"] = json!("1e24");
        },
        &expect![[r#"
            put aside: deposit
        "#]],
    );
}
