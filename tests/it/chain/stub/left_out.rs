//! Omissions in the responses of the three networks' nodes.

use serde_json::{Value, json};
use support::fault::faulty_line::Edit;

use crate::chain::conformance::LeftOut;

pub type Ways = &'static [(&'static str, Edit)];

const BLOCK: &str = "/walletsolidity/getblockbynum";
const INFOS: &str = "/walletsolidity/gettransactioninfobyblocknum";

fn first(value: &mut Value, list: &str) {
    value[list].as_array_mut().expect("a list").remove(0);
}

pub fn of_thorchain(what: LeftOut) -> Ways {
    match what {
        LeftOut::All => &[
            ("the transactions", |path, value| {
                if path == "/block" {
                    value["result"]["block"]["data"]["txs"] = json!([]);
                }
            }),
            ("the results", |path, value| {
                if path == "/block_results" {
                    value["result"]["txs_results"] = Value::Null;
                }
            }),
            ("the events", |path, value| {
                let results = value["result"]["txs_results"].as_array_mut();
                if path == "/block_results" {
                    results.into_iter().flatten().for_each(|result| result["events"] = json!([]));
                }
            }),
        ],
        LeftOut::Transaction => &[
            ("a transaction", |path, value| {
                if path == "/block" {
                    first(&mut value["result"]["block"]["data"], "txs");
                }
            }),
            ("a result", |path, value| {
                if path == "/block_results" {
                    first(&mut value["result"], "txs_results");
                }
            }),
            ("the events of a transaction", |path, value| {
                if path == "/block_results" {
                    value["result"]["txs_results"][1]["events"] = json!([]);
                }
            }),
        ],
        LeftOut::Movement => &[],
    }
}

/// Headers show an omission as well, so they stay unchanged.
pub fn of_near(what: LeftOut) -> Ways {
    match what {
        LeftOut::All => &[
            ("the shards", |_, value| value["shards"] = json!([])),
            ("the shards and the chunks", |_, value| {
                value["block"]["chunks"] = json!([]);
                value["shards"] = json!([]);
            }),
            ("the outcomes", |_, value| {
                let shards = value["shards"].as_array_mut().expect("shards");
                shards.iter_mut().for_each(|s| s["receipt_execution_outcomes"] = json!([]));
            }),
        ],
        LeftOut::Transaction => &[
            ("a shard", |_, value| first(value, "shards")),
            ("an outcome", |_, value| {
                first(&mut value["shards"][0], "receipt_execution_outcomes");
            }),
        ],
        // A movement alone in its shard is confirmed by nothing else in its block; here it is not
        // alone.
        LeftOut::Movement => &[("a line of a log", |_, value| {
            let shards = value["shards"].as_array_mut().expect("shards").iter_mut();
            for outcome in
                shards.flat_map(|s| s["receipt_execution_outcomes"].as_array_mut()).flatten()
            {
                let logs = &mut outcome["execution_outcome"]["outcome"]["logs"];
                logs.as_array_mut().expect("logs").pop();
            }
        })],
    }
}

pub fn of_tron(what: LeftOut) -> Ways {
    match what {
        LeftOut::All => &[
            ("the transactions", |path, value| {
                if path == BLOCK {
                    value["transactions"] = json!([]);
                }
            }),
            ("the outcomes", |path, value| {
                if path == INFOS {
                    *value = json!({});
                }
            }),
        ],
        LeftOut::Transaction => &[
            ("a transaction", |path, value| {
                if path == BLOCK {
                    first(value, "transactions");
                }
            }),
            ("an outcome", |path, value| {
                if path == INFOS {
                    value.as_array_mut().expect("outcomes").pop();
                }
            }),
            ("the logs of a token's transfer", |path, value| {
                if path == INFOS {
                    value[1].as_object_mut().expect("an outcome").remove("log");
                }
            }),
        ],
        LeftOut::Movement => &[],
    }
}
