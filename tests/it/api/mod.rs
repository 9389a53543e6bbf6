//! The merchant API to the letter of the specification: one file per route, as in `api/src/route/`,
//! and one per rule shared by all routes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod auth;
mod bad_input;
mod balance;
mod buyer_status;
mod catalogue;
mod checkout;
mod connections;
mod cross_origin;
mod events;
mod export;
mod families;
mod hostile_http;
mod idempotency;
mod logs;
mod nowpayments;
mod nowpayments_clients;
mod openapi;
mod payment;
mod rate_limit;
mod request_id;
mod sandbox;
mod shape;
mod slow_clients;
mod status;

use serde_json::{Value, json};
use sqlx::Row;
use support::server::stack::Stack;

/// A valid request with `changes` on top.
fn order(changes: &Value) -> Value {
    let mut body = json!({
        "price_amount": 25, "price_currency": "usd", "pay_currency": "usdtmatic",
    });
    for (name, value) in changes.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

/// Row counts of the tables that a creation writes. The outbox is not among them: the relay empties
/// it.
async fn rows_written(stack: &Stack) -> [i64; 4] {
    let mut connection = stack.database.connect().await;
    let counts = "select (select count(*) from invoice), (select count(*) from timer),
                         (select count(*) from idempotency), (select count(*) from deposit_address)";
    let row = sqlx::query(counts).fetch_one(&mut connection).await.unwrap();
    std::array::from_fn(|column| row.get(column))
}
