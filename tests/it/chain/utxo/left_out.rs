//! Omissions in nodes' responses.

use serde_json::{Value, json};
use support::fault::faulty_line::Edit;

use crate::chain::conformance::LeftOut;

type Ways = &'static [(&'static str, Edit)];

const ALL: Ways = &[
    ("all but the reward", |method, result| {
        if let Some(transactions) = transactions(method, result) {
            transactions.truncate(1);
        }
    }),
    ("all", |method, result| {
        if method == "getblock" {
            result["tx"] = json!([]);
        }
    }),
];

const TRANSACTION: Ways = &[
    ("the first payment", |method, result| {
        if let Some(transactions) = transactions(method, result) {
            transactions.remove(1);
        }
    }),
    ("the last one", |method, result| {
        if let Some(transactions) = transactions(method, result) {
            transactions.pop();
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

fn transactions<'a>(method: &str, result: &'a mut Value) -> Option<&'a mut Vec<Value>> {
    if method == "getblock" { result["tx"].as_array_mut() } else { None }
}
