//! One call: the block with all shards, their transactions, the outcome of each receipt, and its
//! state changes.

use serde_json::{Value, json};
use support::node::{
    near_data::{NearData, NearReceipt, prove, transfer},
    stub_chain::StubChain,
};

use super::{
    HEIGHT, TRANSACTIONS,
    answers::{Answers, digest, digits, told},
};

const UNITS: &str = "2470000000000000000000";

/// Coin payments, the cheapest kind, because the gas of a block does not suffice for ten thousand
/// token calls.
pub fn full() -> Answers {
    let chain = StubChain::new(HEIGHT - 1, digest("block", 1));
    let mut node = NearData { chain, ..NearData::default() };
    node.chain.waiting = (0..TRANSACTIONS).map(receipt).collect();
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
        prove_all(shard);
    }
    Answers::new([(path, block.to_string()), ("/v0/last_block/final", last.to_string())])
}

/// Outcomes of transactions precede outcomes of receipts in the tree of their shard.
fn prove_all(shard: &mut Value) {
    let take = |value: &mut Value| value.as_array_mut().map(std::mem::take).unwrap_or_default();
    let mut transactions = take(&mut shard["chunk"]["transactions"]);
    let mut outcomes: Vec<_> = transactions.iter_mut().map(|one| one["outcome"].take()).collect();
    outcomes.append(&mut take(&mut shard["receipt_execution_outcomes"]));
    prove(&mut outcomes);
    let of_receipts = outcomes.split_off(transactions.len());
    for (transaction, outcome) in transactions.iter_mut().zip(outcomes) {
        transaction["outcome"] = outcome;
    }
    shard["chunk"]["transactions"] = transactions.into();
    shard["receipt_execution_outcomes"] = of_receipts.into();
}

fn hash(kind: &str, number: usize) -> String {
    bs58::encode(digest(kind, number)).into_string()
}

fn receipt(number: usize) -> NearReceipt {
    NearReceipt {
        id: hash("receipt", number),
        predecessor: digits("from", number),
        ..NearReceipt::new(&hash("tx", number), &digits("to", number), vec![transfer(UNITS)])
    }
}

/// A transaction with its outcome: a receipt.
fn transaction(number: usize) -> Value {
    let signature = bs58::encode([digest("r", number), digest("s", number)].concat());
    json!({
        "transaction": {
            "signer_id": digits("from", number), "public_key": format!("ed25519:{}", hash("key", number)),
            "nonce": number, "receiver_id": digits("to", number), "actions": [transfer(UNITS)], "priority_fee": 0,
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

/// Two accounts.
fn changes(number: usize) -> [Value; 2] {
    ["from", "to"].map(|side| {
        json!({
            "cause": { "type": "receipt_processing", "receipt_hash": hash("receipt", number) },
            "type": "account_update",
            "change": {
                "account_id": digits(side, number), "amount": UNITS, "locked": "0",
                "code_hash": "11111111111111111111111111111111", "storage_usage": 182, "storage_paid_at": 0,
            },
        })
    })
}
