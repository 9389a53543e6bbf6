//! Two calls: the block with its transactions, and all receipts.

use serde_json::{Value, json};

use super::{
    HEIGHT, TRANSACTIONS,
    answers::{Answers, digits, reply},
};

/// Token payments, as most of a busy chain's transactions are.
pub fn full() -> Answers {
    const TRANSFER: &str = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
    const TOKEN: &str = "0xdac17f958d2ee523a2206206994597c13d831ec7";
    let height = format!("{HEIGHT:#x}");
    let block_hash = hash_of("block", 0);
    // This many topics set every bit.
    let bloom = format!("0x{}", "ff".repeat(256));
    let word = |kind, number| format!("0x{:0>64}", &hash_of(kind, number)[26..]);
    let transaction = |number: usize| {
        json!({
            "type": "0x2", "chainId": "0x1", "nonce": format!("{number:#x}"), "gas": "0xfde8",
            "maxFeePerGas": "0x4a817c800", "maxPriorityFeePerGas": "0x3b9aca00", "gasPrice": "0x4a817c800",
            "to": TOKEN, "value": "0x0", "accessList": [], "hash": hash_of("tx", number),
            "from": &hash_of("from", number)[..42], "blockHash": block_hash, "blockNumber": height,
            "transactionIndex": format!("{number:#x}"), "yParity": "0x1", "v": "0x1",
            "r": hash_of("r", number), "s": hash_of("s", number),
            "input": format!("0xa9059cbb{}{:064x}", &word("to", number)[2..], 25_000_000),
        })
    };
    let receipt = |number: usize| {
        json!({
            "type": "0x2", "status": "0x1", "cumulativeGasUsed": "0xfde8", "logsBloom": bloom,
            "logs": [{
                "address": TOKEN, "topics": [TRANSFER, word("from", number), word("to", number)],
                "data": format!("0x{:064x}", 25_000_000), "blockHash": block_hash, "blockNumber": height,
                "blockTimestamp": "0x6a000000", "transactionHash": hash_of("tx", number),
                "transactionIndex": format!("{number:#x}"), "logIndex": format!("{number:#x}"), "removed": false,
            }],
            "transactionHash": hash_of("tx", number), "transactionIndex": format!("{number:#x}"),
            "blockHash": block_hash, "blockNumber": height, "gasUsed": "0xfde8",
            "effectiveGasPrice": "0x4a817c800", "from": &hash_of("from", number)[..42], "to": TOKEN,
            "contractAddress": null,
        })
    };
    let transactions: Vec<_> = (0..TRANSACTIONS).map(transaction).collect();
    let receipts: Vec<_> = (0..TRANSACTIONS).map(receipt).collect();
    let block = json!({
        "number": height, "hash": block_hash, "parentHash": hash_of("block", 1),
        "timestamp": "0x6a000000", "logsBloom": bloom, "transactionsRoot": hash_of("root", 0),
        "transactions": transactions,
    });
    Answers::new([
        ("eth_getBlockByNumber", reply(&block)),
        ("eth_getBlockReceipts", reply(&Value::Array(receipts))),
    ])
}

fn hash_of(kind: &str, number: usize) -> String {
    format!("0x{}", digits(kind, number))
}
