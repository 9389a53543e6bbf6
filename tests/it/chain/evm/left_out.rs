//! Omissions in nodes' responses, including nodes of some years ago, which need other requests.

use serde_json::{Value, json};
use support::fault::faulty_line::Edit;

use super::stage::{BODY, LOGS, RECEIPT, RECEIPTS, list};
use crate::chain::conformance::LeftOut;

type Ways = &'static [(&'static str, Edit)];

const ALL: Ways = &[
    ("no logs", |method, result| match method {
        RECEIPTS => list(result).iter_mut().for_each(|receipt| receipt["logs"] = json!([])),
        LOGS => *result = json!([]),
        _ => {}
    }),
    ("no receipts", |method, result| match method {
        RECEIPTS => *result = json!([]),
        RECEIPT => *result = Value::Null,
        _ => {}
    }),
    ("no transactions", |method, result| {
        if method == BODY {
            result["transactions"] = json!([]);
        }
    }),
];

/// A payment of coins that is left out shows only in its receipt, which nodes of some years ago
/// return only by hash.
const TRANSACTION: Ways = &[
    ("the transaction with logs", |method, result| {
        if method == BODY {
            list(&mut result["transactions"]).remove(1);
        }
    }),
    ("the receipt with logs", |method, result| match method {
        RECEIPTS => drop(list(result).remove(1)),
        LOGS => *result = json!([]),
        _ => {}
    }),
];

const MOVEMENT: Ways = &[
    ("the first log", |method, result| {
        if let Some(logs) = logs(method, result) {
            logs.remove(0);
        }
    }),
    ("the last log", |method, result| {
        if let Some(logs) = logs(method, result) {
            logs.pop();
        }
    }),
];

pub fn of(what: LeftOut) -> Ways {
    match what {
        LeftOut::All => ALL,
        LeftOut::Transaction => TRANSACTION,
        LeftOut::Movement => MOVEMENT,
    }
}

/// The logs of the one transaction that has some.
fn logs<'a>(method: &str, result: &'a mut Value) -> Option<&'a mut Vec<Value>> {
    match method {
        RECEIPTS => Some(list(&mut result[1]["logs"])),
        LOGS => Some(list(result)),
        _ => None,
    }
}
