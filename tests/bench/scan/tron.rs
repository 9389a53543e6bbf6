//! Two calls: the block with its transactions, and the result of each.

use serde_json::{Value, json};

use super::{
    HEIGHT, TRANSACTIONS,
    answers::{Answers, digits},
};

const USDT: &str = "a614f803b6fd780986a42c78ec9c7f77e6ded13c";
const TRANSFER: &str = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
/// Milliseconds.
const MINED_AT: i64 = 1_780_000_000_000;

/// USDT payments, the most common kind on this network.
pub fn full() -> Answers {
    let id = |height: u64| format!("{height:016x}{}", &digits("block", 0)[16..]);
    let transactions: Vec<_> = (0..TRANSACTIONS).map(transaction).collect();
    let infos: Vec<_> = (0..TRANSACTIONS).map(info).collect();
    let block = json!({
        "blockID": id(HEIGHT),
        "block_header": {
            "raw_data": {
                "number": HEIGHT, "txTrieRoot": digits("root", 0),
                "witness_address": "41b2f713d57dbcec679d93a8849fa0cd0e4db594ba",
                "parentHash": id(HEIGHT - 1), "version": 34, "timestamp": MINED_AT,
            },
            "witness_signature": signature(TRANSACTIONS),
        },
        "transactions": transactions,
    });
    Answers::new([
        ("/walletsolidity/getblockbynum", block.to_string()),
        ("/walletsolidity/gettransactioninfobyblocknum", Value::Array(infos).to_string()),
    ])
}

fn account(kind: &str, number: usize) -> String {
    digits(kind, number)[..40].to_owned()
}

fn signature(number: usize) -> String {
    format!("{}{}1b", digits("r", number), digits("s", number))
}

fn word(account: &str) -> String {
    format!("{account:0>64}")
}

fn transaction(number: usize) -> Value {
    let call = format!("a9059cbb{}{:064x}", word(&account("to", number)), 25_000_000);
    // 211 bytes of protocol buffers, of which the call is a part.
    let encoded = format!("{}{call}{}", digits("head", number).repeat(2), digits("tail", number));
    json!({
        "ret": [{ "contractRet": "SUCCESS" }], "signature": [signature(number)], "txID": digits("tx", number),
        "raw_data": {
            "contract": [{
                "parameter": {
                    "value": {
                        "data": call, "owner_address": format!("41{}", account("from", number)),
                        "contract_address": format!("41{USDT}"),
                    },
                    "type_url": "type.googleapis.com/protocol.TriggerSmartContract",
                },
                "type": "TriggerSmartContract",
            }],
            "ref_block_bytes": "1c8b", "ref_block_hash": "d78785ed02dd918f", "expiration": MINED_AT + 60_000,
            "fee_limit": 100_000_000, "timestamp": MINED_AT - 3_000,
        },
        "raw_data_hex": encoded,
    })
}

fn info(number: usize) -> Value {
    json!({
        "id": digits("tx", number), "fee": 6_428_500, "blockNumber": HEIGHT, "blockTimeStamp": MINED_AT,
        "contractResult": [format!("{:064x}", 1)], "contract_address": format!("41{USDT}"),
        "receipt": {
            "energy_fee": 6_428_500, "energy_usage_total": 64_285, "net_usage": 345, "result": "SUCCESS",
            "energy_penalty_total": 49_635,
        },
        "log": [{
            "address": USDT,
            "topics": [TRANSFER, word(&account("from", number)), word(&account("to", number))],
            "data": format!("{:064x}", 25_000_000),
        }],
    })
}
