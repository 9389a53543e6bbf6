//! Payment links: the merchant's API, and visitors without a key.

mod api;
mod donation;
mod page;
mod quota;
mod single_use;

use http::Method;
use serde_json::{Value, json};
use support::{
    client::{Answer, Client},
    server::stack::Stack,
};
use url::form_urlencoded;

/// A link of a fixed price with `changes` on top; `null` leaves a member out.
fn new_link(changes: &Value) -> Value {
    let mut body = json!({
        "type": "payment", "title": "Two cups", "price_amount": 25, "price_currency": "usd",
    });
    for (name, value) in changes.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

/// Creates a link and returns the whole answer.
async fn created(client: &Client, changes: &Value) -> Value {
    let answer = client.post("/v1/links", &new_link(changes)).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.json()
}

fn id(link: &Value) -> &str {
    link["link_id"].as_str().unwrap()
}

/// Sends the form of a link's page.
async fn send(client: &Client, link_id: &str, fields: &[(&str, &str)]) -> Answer {
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    client.send(Method::POST, &format!("/l/{link_id}"), &body).await
}

/// The invoice that an accepted form leads to.
#[track_caller]
fn payment_id(answer: &Answer) -> String {
    assert_eq!(answer.status, 303, "{}", answer.body);
    let location = answer.header("location").unwrap();
    let id = location.strip_prefix("/pay/").unwrap().split('?').next().unwrap();
    assert!(id.starts_with("pzi_"), "{location}");
    id.to_owned()
}

async fn invoices(stack: &Stack) -> i64 {
    let mut connection = stack.database.connect().await;
    sqlx::query_scalar("select count(*) from invoice").fetch_one(&mut connection).await.unwrap()
}
