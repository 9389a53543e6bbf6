//! Omissions in the responses of TON's nodes.

use serde_json::Value;
use support::fault::faulty_line::Edit;

use crate::chain::conformance::LeftOut;

type Ways = &'static [(&'static str, Edit)];

const TRANSACTIONS: &str = "/api/v3/transactionsByMasterchainBlock";
const SHARDS: &str = "/api/v3/masterchainBlockShards";

const ALL: Ways = &[
    ("all transactions", |path, body| {
        if path == TRANSACTIONS {
            list(body, "transactions").clear();
        }
    }),
    ("all shards", |path, body| {
        if path == SHARDS {
            list(body, "blocks").clear();
        }
    }),
];

const TRANSACTION: Ways = &[
    ("a transaction", |path, body| {
        if path == TRANSACTIONS && list(body, "transactions").len() > 1 {
            list(body, "transactions").remove(1);
        }
    }),
    ("a shard", |path, body| {
        if path == SHARDS {
            let blocks = list(body, "blocks");
            let busy = |block: &Value| block["workchain"] == 0 && block["tx_count"] != 0;
            let at = blocks.iter().position(busy).expect("a shard with transactions");
            blocks.remove(at);
        }
    }),
];

pub fn of(what: LeftOut) -> Ways {
    match what {
        LeftOut::All => ALL,
        LeftOut::Transaction => TRANSACTION,
        LeftOut::Movement => &[],
    }
}

fn list<'a>(body: &'a mut Value, field: &str) -> &'a mut Vec<Value> {
    body[field].as_array_mut().expect("a list")
}
