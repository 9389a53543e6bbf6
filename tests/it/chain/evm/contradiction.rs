//! Nodes that lag, drop and invent data. None of it may pass for a block without payments.

use gateway::chain::{ChainError, ChainSource};
use serde_json::{Value, json};
use support::node::json_rpc::Answer;

use super::stage::{
    BODY, LOGS, Lie, RECEIPT, RECEIPTS, TRANSFERS, eventful, list, logs_of, proxied, told,
    told_by_old_node, without_block_receipts,
};
use crate::chain::conformance::{ChainUnderTest, Connect};

/// Possible faults of a node with `eth_getBlockReceipts`.
const LIES: [(&str, Lie); 11] = [
    ("the first log of a transaction is dropped", |method, result| {
        if method == RECEIPTS {
            logs_of(result, 1).remove(0);
        }
    }),
    ("a log in the middle is dropped", |method, result| {
        if method == RECEIPTS {
            logs_of(result, 1).remove(1);
        }
    }),
    ("the last log of a transaction is dropped", |method, result| {
        if method == RECEIPTS {
            logs_of(result, 1).pop();
        }
    }),
    ("the last log of the block is dropped", |method, result| {
        if method == RECEIPTS {
            logs_of(result, 2).pop();
        }
    }),
    ("a log is invented", |method, result| {
        if method == RECEIPTS {
            let mut log = logs_of(result, 2)[0].clone();
            log["topics"][2] = json!(format!("0x{}", "0badbeef".repeat(8)));
            log["logIndex"] = json!("0x4");
            logs_of(result, 3).push(log);
        }
    }),
    ("the receipts are unknown", |method, result| {
        if method == RECEIPTS {
            *result = Value::Null;
        }
    }),
    ("a receipt is doubled", |method, result| {
        if method == RECEIPTS {
            let receipts = list(result);
            receipts.push(receipts[3].clone());
        }
    }),
    ("the receipts are of another block", |method, result| {
        if method == RECEIPTS {
            for receipt in list(result) {
                receipt["blockHash"] = json!(format!("0x{}", "ab".repeat(32)));
            }
        }
    }),
    ("a payment is dropped", |method, result| {
        if method == BODY {
            list(&mut result["transactions"]).remove(0);
        }
    }),
    ("a transaction is doubled", |method, result| {
        if method == BODY {
            let transactions = list(&mut result["transactions"]);
            transactions.push(transactions[0].clone());
        }
    }),
    ("another height is served", |method, result| {
        if method == BODY {
            result["number"] = json!("0x1");
        }
    }),
];

/// Possible faults of a node without it.
const OLD_LIES: [(&str, Lie); 5] = [
    ("the first log is dropped", |method, result| {
        if method == LOGS {
            list(result).remove(0);
        }
    }),
    ("the last log is dropped", |method, result| {
        if method == LOGS {
            list(result).pop();
        }
    }),
    ("the logs are of another block", |method, result| {
        if method == LOGS {
            result[0]["blockHash"] = json!(format!("0x{}", "ab".repeat(32)));
        }
    }),
    ("a receipt is unknown", |method, result| {
        if method == RECEIPT {
            *result = Value::Null;
        }
    }),
    ("a receipt is of another block", |method, result| {
        if method == RECEIPT {
            result["blockHash"] = json!(format!("0x{}", "ab".repeat(32)));
        }
    }),
];

#[tokio::test]
async fn a_block_whose_parts_do_not_fit_together_is_refused() {
    let (chain, height) = eventful().await;
    let honest = told(&chain.anvil, height, |_, _| ()).await.unwrap();
    assert_eq!(honest.transfers.len(), TRANSFERS);
    for (name, lie) in LIES {
        let answer = told(&chain.anvil, height, lie).await;
        assert!(matches!(answer, Err(ChainError::Inconsistent { .. })), "{name}: {answer:?}");
    }
}

#[tokio::test]
async fn a_node_that_reports_blocks_in_the_old_format_is_checked_alike() {
    let (chain, height) = eventful().await;
    let honest = told_by_old_node(&chain.anvil, height, |_, _| ()).await.unwrap();
    assert_eq!(honest.transfers.len(), TRANSFERS);
    for (name, lie) in OLD_LIES {
        let answer = told_by_old_node(&chain.anvil, height, lie).await;
        assert!(matches!(answer, Err(ChainError::Inconsistent { .. })), "{name}: {answer:?}");
    }
}

#[tokio::test]
async fn a_block_that_is_replaced_between_two_calls_is_refused() {
    let (mut chain, height) = eventful().await;
    let params = json!([format!("{height:#x}"), true]);
    let orphan = chain.anvil.rpc(BODY, params).await.unwrap();
    chain.reorg(1, Connect::Same).await;
    for is_old in [false, true] {
        let orphan = orphan.clone();
        let (_proxy, source) = proxied(&chain.anvil, move |method, mut reply| {
            if method == BODY {
                reply["result"] = orphan.clone();
            }
            if is_old {
                without_block_receipts(method, &mut reply);
            }
            Answer::Reply(reply)
        })
        .await;
        let answer = source.block(height).await;
        // A node may also report that it does not know the hash.
        assert!(
            matches!(answer, Err(ChainError::Inconsistent { .. } | ChainError::Refused { .. })),
            "{answer:?}"
        );
    }
}

#[tokio::test]
async fn one_entry_that_cannot_be_read_does_not_stop_its_block() {
    let (chain, height) = eventful().await;
    let poisons: [(&str, Lie, usize); 5] = [
        (
            "a transaction",
            |method, result| {
                if method == BODY {
                    result["transactions"][0]["value"] = json!({ "wei": 1 });
                }
            },
            5,
        ),
        (
            "a transaction that is no object",
            |method, result| {
                if method == BODY {
                    result["transactions"][0] = json!(7);
                }
            },
            5,
        ),
        (
            "a receipt",
            |method, result| {
                if method == RECEIPTS {
                    result[1]["logs"] = json!("none");
                }
            },
            3,
        ),
        (
            "a receipt without a status",
            |method, result| {
                if method == RECEIPTS {
                    result[0]["status"] = Value::Null;
                }
            },
            5,
        ),
        (
            "a log",
            |method, result| {
                if method == RECEIPTS {
                    logs_of(result, 1)[1]["topics"] = json!([1, 2, 3]);
                }
            },
            5,
        ),
    ];
    let honest = told(&chain.anvil, height, |_, _| ()).await.unwrap();
    for (name, poison, left) in poisons {
        let block = told(&chain.anvil, height, poison).await;
        let block = block.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(block.transfers.len(), left, "{name}");
        // The remaining transfers keep their keys.
        for transfer in &block.transfers {
            assert!(honest.transfers.contains(transfer), "{name}: {transfer:?}");
        }
    }
    let nonsense = told(&chain.anvil, height, |method, result| {
        if method == BODY {
            result["transactions"] = json!(["0x01", "0x02", "0x03"]);
        }
    })
    .await;
    assert!(matches!(nonsense, Err(ChainError::Malformed { .. })), "{nonsense:?}");
}

#[tokio::test]
async fn a_log_that_was_taken_back_is_never_a_payment() {
    let (chain, height) = eventful().await;
    let answer = told(&chain.anvil, height, |method, result| {
        if method == RECEIPTS {
            logs_of(result, 2)[0]["removed"] = json!(true);
        }
    })
    .await;
    // The header still commits to it, so the node contradicts itself.
    assert!(matches!(answer, Err(ChainError::Inconsistent { .. })), "{answer:?}");
}
