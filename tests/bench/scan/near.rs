//! One call: the block with all shards, their transactions, what came of each receipt, and what it changed.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use support::{
    near_data::{NearData, NearReceipt, ft_transfer, transfer},
    stub_chain::StubChain,
};

use super::{
    HEIGHT, TRANSACTIONS,
    answers::{Answers, digest, digits, told},
};

const TOKEN: &str = "usdt.tether-token.near";
const UNITS: &str = "25000000";

/// Token payments, and to each payer the gas that was left.
pub fn full() -> Answers {
    let chain = StubChain::new(HEIGHT - 1, digest("block", 1));
    let mut node = NearData { chain, archive_below: None };
    node.chain.waiting = (0..TRANSACTIONS).flat_map(receipts).collect();
    node.chain.mine();
    let path = "/v0/block/10000000";
    let mut block = told(&node, path);
    let last = json!({ "block": block["block"], "shards": [] });
    let shards = block["shards"].as_array_mut().unwrap();
    let per_shard = TRANSACTIONS / shards.len();
    for (place, shard) in shards.iter_mut().enumerate() {
        let numbers = place * per_shard..(place + 1) * per_shard;
        shard["chunk"]["transactions"] = numbers.clone().map(transaction).collect();
        shard["state_changes"] = numbers.flat_map(changes).collect();
    }
    Answers::new([(path, block.to_string()), ("/v0/last_block/final", last.to_string())])
}

fn hash(kind: &str, number: usize) -> String {
    bs58::encode(digest(kind, number)).into_string()
}

fn call(number: usize) -> Value {
    let args = json!({ "receiver_id": digits("to", number), "amount": UNITS }).to_string();
    json!({ "FunctionCall": {
        "method_name": "ft_transfer", "args": BASE64_STANDARD.encode(args),
        "gas": 30_000_000_000_000_u64, "deposit": "1",
    }})
}

fn receipts(number: usize) -> [NearReceipt; 2] {
    let (tx, from) = (hash("tx", number), digits("from", number));
    let paid = NearReceipt {
        id: hash("receipt", number),
        predecessor: from.clone(),
        logs: vec![ft_transfer(&digits("to", number), UNITS)],
        ..NearReceipt::new(&tx, TOKEN, vec![call(number)])
    };
    let refund = vec![transfer("2470000000000000000000")];
    let refund =
        NearReceipt { predecessor: "system".to_owned(), ..NearReceipt::new(&tx, &from, refund) };
    [paid, refund]
}

/// With what became of it: a receipt.
fn transaction(number: usize) -> Value {
    let signature = bs58::encode([digest("r", number), digest("s", number)].concat());
    json!({
        "transaction": {
            "signer_id": digits("from", number), "public_key": format!("ed25519:{}", hash("key", number)),
            "nonce": number, "receiver_id": TOKEN, "actions": [call(number)], "priority_fee": 0,
            "signature": format!("ed25519:{}", signature.into_string()), "hash": hash("tx", number),
        },
        "outcome": {
            "execution_outcome": {
                "proof": [], "block_hash": hash("block", 0), "id": hash("tx", number),
                "outcome": {
                    "logs": [], "receipt_ids": [hash("receipt", number)], "gas_burnt": 309_863_562_500_u64,
                    "tokens_burnt": "30986356250000000000", "executor_id": digits("from", number),
                    "status": { "SuccessReceiptId": hash("receipt", number) },
                    "metadata": { "version": 1, "gas_profile": null },
                },
            },
            "receipt": null,
        },
    })
}

/// Two balances of the token.
fn changes(number: usize) -> [Value; 2] {
    ["from", "to"].map(|side| {
        json!({
            "cause": { "type": "receipt_processing", "receipt_hash": hash("receipt", number) },
            "type": "data_update",
            "change": {
                "account_id": TOKEN, "key_base64": BASE64_STANDARD.encode(digits(side, number)),
                "value_base64": BASE64_STANDARD.encode(25_000_000_u128.to_le_bytes()),
            },
        })
    })
}
