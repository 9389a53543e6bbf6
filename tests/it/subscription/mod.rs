//! Subscriptions: cycles, reminders, the subscriber's own page, and the sandbox's clock.

mod api;
mod race;
mod reminders;

use gateway::invoice::Status;
use http::Method;
use serde_json::{Value, json};
use support::{client::Answer, server::broker::eventually, shop::Shop};
use url::form_urlencoded;

/// The terms of a monthly link of 10 USD in USDT, with `changes` on top.
fn terms(shop: &Shop, changes: &Value) -> Value {
    let mut body = json!({
        "type": "subscription", "title": "Coffee club", "price_amount": 10, "price_currency": "usd", "interval": "month",
        "accepted": ["usdtmatic@polygon"], "ipn_callback_url": shop.receiver.url,
    });
    body.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    body
}

async fn link(shop: &Shop, changes: Value) -> String {
    let created = shop.merchant.client.post("/v1/links", &terms(shop, &changes)).await;
    assert_eq!(created.status, 201, "{}", created.body);
    created.json()["link_id"].as_str().unwrap().to_owned()
}

fn thirty_days() -> Value {
    json!({ "interval": "day", "interval_count": 30 })
}

async fn form(shop: &Shop, path: &str, fields: &[(&str, &str)]) -> Answer {
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    shop.stack.buyer().send(Method::POST, path, &body).await
}

#[track_caller]
fn payment_id(answer: &Answer) -> String {
    assert_eq!(answer.status, 303, "{}", answer.body);
    let location = answer.header("location").unwrap();
    location.strip_prefix("/pay/").unwrap().split('?').next().unwrap().to_owned()
}

/// Chooses a currency for a draft and pays it in full.
async fn pay(shop: &Shop, payment: &str) {
    let choice = json!({ "token_id": "usdtmatic@polygon" });
    let path = format!("/api/pay/{payment}/select");
    let chosen = shop.stack.buyer().post(&path, &choice).await;
    assert_eq!(chosen.status, 200, "{}", chosen.body);
    let due = shop.payment(payment).await["pay_amount"].to_string();
    shop.pay(payment, &due).await;
    shop.becomes(payment, Status::Paid).await;
}

/// A paid subscription of `email`, as the API shows it.
async fn subscribed(shop: &Shop, link_id: &str, email: &str) -> Value {
    let sent = form(shop, &format!("/l/{link_id}"), &[("email", email)]).await;
    pay(shop, &payment_id(&sent)).await;
    let list = shop.merchant.client.get("/v1/subscriptions").await.json();
    // The newest first.
    let found =
        list["data"].as_array().unwrap().iter().find(|one| one["subscriber_email"] == email);
    found.unwrap_or_else(|| panic!("{email} is not in {list}")).clone()
}

async fn read(shop: &Shop, subscription: &Value) -> Value {
    let path = format!("/v1/subscriptions/{}", subscription["subscription_id"].as_str().unwrap());
    shop.merchant.client.get(&path).await.json()
}

async fn advance(shop: &Shop, subscription: &Value, days: u32) {
    let body = json!({ "subscription_id": subscription["subscription_id"], "days": days });
    let answer = shop.merchant.client.post("/v1/sandbox/advance", &body).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
}

/// Offsets of the reminders that were written, in the order of their events.
async fn offsets(shop: &Shop) -> Vec<i64> {
    let mut connection = shop.stack.database.connect().await;
    sqlx::query_scalar(
        "select (coalesce(e.payload, d.payload)::jsonb #>> '{_gateway,renewal,day_offset}')::bigint
         from event e left join delivery d on d.id = e.delivery_id
         where e.type = 'subscription.renewal_reminder'
         order by e.created_at, e.event_id",
    )
    .fetch_all(&mut connection)
    .await
    .unwrap()
}

async fn reminders_become(shop: &Shop, expected: &[i64]) {
    eventually("the reminders are written", async || {
        (offsets(shop).await == expected).then_some(())
    })
    .await;
}

/// The subscriber's own page, as the newest reminder names it: `/renew/<token>`.
async fn page_path(shop: &Shop) -> String {
    let mut connection = shop.stack.database.connect().await;
    let url: String = sqlx::query_scalar(
        "select coalesce(e.payload, d.payload)::jsonb #>> '{_gateway,renewal,renewal_url}'
         from event e left join delivery d on d.id = e.delivery_id
         where e.type = 'subscription.renewal_reminder'
         order by e.created_at desc, e.event_id desc
         limit 1",
    )
    .fetch_one(&mut connection)
    .await
    .unwrap();
    let path = url.strip_prefix(&format!("http://{}", shop.stack.checkout));
    path.unwrap_or_else(|| panic!("{url}")).to_owned()
}

/// A paid subscription whose first reminder was written, 28 days into a period of 30, and the path
/// of its subscriber's page.
async fn reminded(shop: &Shop, link_id: &str, email: &str) -> (Value, String) {
    let one = subscribed(shop, link_id, email).await;
    let before = offsets(shop).await.len();
    advance(shop, &one, 27).await;
    eventually("it is reminded", async || (offsets(shop).await.len() > before).then_some(())).await;
    (one, page_path(shop).await)
}

/// Rows that have the hash of a token.
async fn rows_of(shop: &Shop, token: &str) -> i64 {
    let mut connection = shop.stack.database.connect().await;
    let query = "select count(*) from subscription_reminder where token_hash = sha256($1)";
    let rows = sqlx::query_scalar(query).bind(token.as_bytes());
    rows.fetch_one(&mut connection).await.unwrap()
}
