//! Recorded replies of the Nile test network, from java-tron's documentation, and their variations.
//!
//! `CALL` and its `CALL_INFO` are one contract call; long data is cut there already. `BLOCK` is the
//! header of another block, into which the call is put under this block's number and time.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::*;

const BLOCK: &str = r#"{
  "blockID": "0000000003fe262d52bfa4b2814f816fd2e57af5b98a33d60d8630a03a908e0e",
  "block_header": {
    "raw_data": {
      "number": 66987565,
      "txTrieRoot": "faf8fe3858339ead25cc892461c82a59b84dca4a51c45b026676bf3f45a352a2",
      "witness_address": "41b2f713d57dbcec679d93a8849fa0cd0e4db594ba",
      "parentHash": "0000000003fe262c85cd6b02033f4c3e5c1efa35de256a17bd906dc61fb1aeed",
      "version": 34,
      "timestamp": 1777445121000
    },
    "witness_signature": "5b3cf6cb15d52947989f7726f4907a144b39ccd667a1a0f98707b40cdfe65b96173ddf34ae8dcc5e78f136e0cf903a15c7128984aa2191f02333209d1879d3f900"
  }
}"#;
const CALL: &str = r#"{
  "ret": [{ "contractRet": "SUCCESS" }],
  "signature": ["2154e8ef08f014063de8a88bafe748c8cbb48633c1657c083dca1a73439b289f6aa796bfa58797da6354d35fb7334a8c145c48ae266e4a885f7ee44791b5a3c31b"],
  "txID": "01b4cde4197b9d1a1ff09ef5d2b1d939d3ec2401b3f002ebd0802c0f30a6e4ca",
  "raw_data": {
    "contract": [{
      "parameter": {
        "value": {
          "data": "a6bd98ac0000000000000000000000000000000000000000000000000000000000000007",
          "owner_address": "41dd791d6b49e190062d650e6a23c575510d35f2f9",
          "contract_address": "419ff8fc48fb114ccd5bbdc24a86f0c73082f08825"
        },
        "type_url": "type.googleapis.com/protocol.TriggerSmartContract"
      },
      "type": "TriggerSmartContract"
    }],
    "ref_block_bytes": "1c8b", "ref_block_hash": "d78785ed02dd918f",
    "expiration": 1777437813000, "fee_limit": 10000000000, "timestamp": 1777437756016
  },
  "raw_data_hex": "0a021c8b2208d78785ed02dd918f4088d2b2bcdd335af004081f12eb04"
}"#;
const CALL_INFO: &str = r#"{
  "id": "01b4cde4197b9d1a1ff09ef5d2b1d939d3ec2401b3f002ebd0802c0f30a6e4ca",
  "fee": 5254500,
  "blockNumber": 66987565,
  "blockTimeStamp": 1777445121000,
  "contractResult": [""],
  "contract_address": "419ff8fc48fb114ccd5bbdc24a86f0c73082f08825",
  "receipt": { "energy_fee": 4458500, "energy_usage_total": 44585, "net_fee": 796000, "result": "SUCCESS" },
  "log": [{
    "address": "9ff8fc48fb114ccd5bbdc24a86f0c73082f08825",
    "topics": [
      "c66625d03b4a832d8245f0df593e32e0fbbbad96d4aa45440aa1535b80983083",
      "000000000000000000000000dd791d6b49e190062d650e6a23c575510d35f2f9",
      "0000000000000000000000000000000000000000000000000000000000000007"
    ],
    "data": "0000000000000000000000000000000000000000000000000000000000000007"
  }],
  "internal_transactions": [{
    "hash": "61318c1e41c5fd387f1e4e4e8ec1fc98f295d3ef002bab1b33dd1cba2f93cb75",
    "caller_address": "419ff8fc48fb114ccd5bbdc24a86f0c73082f08825",
    "transferTo_address": "419ff8fc48fb114ccd5bbdc24a86f0c73082f08825",
    "callValueInfo": [{}],
    "note": "63616c6c"
  }]
}"#;

/// The block with one transaction and its outcome.
fn read(transaction: &Value, info: &Value) -> String {
    let mut block: Value = serde_json::from_str(BLOCK).unwrap();
    block["transactions"] = json!([transaction]);
    let block = block.to_string();
    let body = body(&serde_json::from_str(&block).unwrap()).unwrap();
    let info = serde_json::value::to_raw_value(info).unwrap();
    match transfers(&body, &[&info]) {
        Err(reason) => format!("refused: {reason}\n"),
        Ok(transfers) => transfers
            .iter()
            .map(|t| format!("{} to {} {:?} {:?}\n", t.key, t.to, t.asset, t.amount))
            .collect(),
    }
}

#[track_caller]
fn check(change: impl FnOnce(&mut Value, &mut Value), expected: &Expect) {
    let (mut call, mut info) =
        (serde_json::from_str(CALL).unwrap(), serde_json::from_str(CALL_INFO).unwrap());
    change(&mut call, &mut info);
    expected.assert_eq(&read(&call, &info));
}

#[test]
fn the_header_of_a_recorded_block() {
    let wire: WireBlock = serde_json::from_str(BLOCK).unwrap();
    expect![[r#"
        BlockRef {
            height: 66987565,
            hash: "0000000003fe262d52bfa4b2814f816fd2e57af5b98a33d60d8630a03a908e0e",
            parent_hash: "0000000003fe262c85cd6b02033f4c3e5c1efa35de256a17bd906dc61fb1aeed",
            mined_at: 2026-04-29T06:45:21Z,
        }
    "#]]
    .assert_debug_eq(&header(&wire).unwrap());
    assert!(body(&wire).unwrap().commits_to_some);
}

#[test]
fn a_recorded_call_that_moves_nothing() {
    check(|_, _| (), &expect![[""]]);
}

#[test]
fn the_same_call_as_a_token_payment_and_with_value_sent_on() {
    let as_payment = |info: &mut Value| {
        info["log"][0]["topics"][0] = json!(TRANSFER_TOPIC);
        let to = "000000000000000000000000a614f803b6fd780986a42c78ec9c7f77e6ded13c";
        info["log"][0]["topics"][2] = json!(to);
        info["internal_transactions"][0]["callValueInfo"] = json!([{ "callValue": 5 }, { "callValue": 6, "tokenId": "1002000" }, { "callValue": 7 }]);
    };
    check(
        |_, info| as_payment(info),
        &expect![[r#"
        01b4cde4197b9d1a1ff09ef5d2b1d939d3ec2401b3f002ebd0802c0f30a6e4ca:log:0 to TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t Contract("TQZ4iNhzKZvM3nQTrtK69oNwLYxWLHa248") Units(7u)
        01b4cde4197b9d1a1ff09ef5d2b1d939d3ec2401b3f002ebd0802c0f30a6e4ca:internal:0 to TQZ4iNhzKZvM3nQTrtK69oNwLYxWLHa248 Native Units(12u)
    "#]],
    );
    check(
        |call, info| {
            as_payment(info);
            call["ret"][0]["contractRet"] = json!("REVERT");
        },
        &expect![[""]],
    );
    check(
        |_, info| {
            as_payment(info);
            info["receipt"]["result"] = json!("OUT_OF_ENERGY");
        },
        &expect![[""]],
    );
    check(
        |_, info| {
            as_payment(info);
            info["result"] = json!("FAILED");
        },
        &expect![[""]],
    );
    check(
        |_, info| {
            as_payment(info);
            info["internal_transactions"][0]["rejected"] = json!(true);
        },
        &expect![[r#"
            01b4cde4197b9d1a1ff09ef5d2b1d939d3ec2401b3f002ebd0802c0f30a6e4ca:log:0 to TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t Contract("TQZ4iNhzKZvM3nQTrtK69oNwLYxWLHa248") Units(7u)
        "#]],
    );
}

#[test]
fn a_native_transfer_is_read_from_the_block() {
    let to = |amount: Value| {
        move |call: &mut Value, _: &mut Value| {
            call["raw_data"]["contract"][0] = json!({
                "parameter": {
                    "value": {
                        "amount": amount,
                        "owner_address": "41dd791d6b49e190062d650e6a23c575510d35f2f9",
                        "to_address": "41a614f803b6fd780986a42c78ec9c7f77e6ded13c"
                    },
                    "type_url": "type.googleapis.com/protocol.TransferContract"
                },
                "type": "TransferContract"
            });
        }
    };
    check(
        to(json!(1_000_000)),
        &expect![[r#"
        01b4cde4197b9d1a1ff09ef5d2b1d939d3ec2401b3f002ebd0802c0f30a6e4ca:native to TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t Native Units(1000000u)
    "#]],
    );
    check(to(json!(0)), &expect![[""]]);
    check(to(json!(-1)), &expect![[""]]);
    check(to(json!("5")), &expect![[""]]);
}

#[test]
fn an_outcome_of_another_block_is_refused() {
    check(
        |_, info| info["blockNumber"] = json!(66_985_120),
        &expect![[r#"
        refused: the outcome of 01b4cde4197b9d1a1ff09ef5d2b1d939d3ec2401b3f002ebd0802c0f30a6e4ca is of block 66985120
    "#]],
    );
    check(
        |_, info| info["id"] = json!("ab".repeat(32)),
        &expect![[r#"
        refused: transaction 01b4cde4197b9d1a1ff09ef5d2b1d939d3ec2401b3f002ebd0802c0f30a6e4ca has no outcome
    "#]],
    );
}
