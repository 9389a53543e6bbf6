//! One call: the block with the accounts of its transactions and their balances before and after.
//! No account of ours is requested separately, so this is all that is read of a slot.

use serde_json::{Value, json};

use super::{
    HEIGHT, TRANSACTIONS,
    answers::{Answers, digest, reply},
};

const TOKEN: &str = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";
const USDC: &str = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v";
const COMPUTE_BUDGET: &str = "ComputeBudget111111111111111111111111111111";

/// Token payments, without the votes between them on the real network, which pay no account.
pub fn full() -> Answers {
    let transactions: Vec<_> = (0..TRANSACTIONS).map(transaction).collect();
    let block = json!({
        "blockHeight": HEIGHT - 20, "blockTime": 1_780_000_000, "blockhash": key("block", 0),
        "parentSlot": HEIGHT - 1, "previousBlockhash": key("block", 1), "transactions": transactions,
    });
    Answers::new([("getBlock", reply(&block))])
}

fn key(kind: &str, number: usize) -> String {
    bs58::encode(digest(kind, number)).into_string()
}

fn transaction(number: usize) -> Value {
    let signature = bs58::encode([digest("r", number), digest("s", number)].concat()).into_string();
    let keys = [
        key("from", number),
        key("source", number),
        key("target", number),
        USDC.to_owned(),
        TOKEN.to_owned(),
        COMPUTE_BUDGET.to_owned(),
    ];
    let account = |(place, pubkey): (usize, &String)| json!({ "pubkey": pubkey, "signer": place == 0, "source": "transaction", "writable": place < 3 });
    let accounts: Vec<_> = keys.iter().enumerate().map(account).collect();
    let held = |source: u64, target: u64| {
        json!([balance(1, &key("from", number), source), balance(2, &key("to", number), target)])
    };
    json!({
        "meta": {
            "err": null, "status": { "Ok": null }, "fee": 5_000,
            "preBalances": [1_000_000_000, 2_039_280, 2_039_280, 400_000_000_000_u64, 5_000_000_000_u64, 1],
            "postBalances": [999_995_000, 2_039_280, 2_039_280, 400_000_000_000_u64, 5_000_000_000_u64, 1],
            "preTokenBalances": held(90_000_000, 0), "postTokenBalances": held(65_000_000, 25_000_000),
        },
        "transaction": { "accountKeys": accounts, "signatures": [signature] },
        "version": 0,
    })
}

fn balance(place: usize, owner: &str, units: u64) -> Value {
    let coins = units / 1_000_000;
    json!({
        "accountIndex": place, "mint": USDC, "owner": owner, "programId": TOKEN,
        "uiTokenAmount": {
            "amount": units.to_string(), "decimals": 6, "uiAmount": coins, "uiAmountString": coins.to_string(),
        },
    })
}
