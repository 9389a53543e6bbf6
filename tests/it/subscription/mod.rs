//! Subscriptions: cycles, reminders, the subscriber's own page, and the sandbox's clock.

mod api;
mod race;
mod reminders;

use gateway::invoice::Status;
use http::Method;
use serde_json::{Value, json};
use support::{client::Answer, server::broker::eventually, shop::Shop};
use url::form_urlencoded;

/// A monthly link of 10 USD in USDT, with `changes` on top.
async fn link(shop: &Shop, changes: Value) -> String {
    let mut body = json!({
        "type": "subscription", "title": "Coffee club", "price_amount": 10, "price_currency": "usd", "interval": "month",
        "accepted": ["usdtmatic@polygon"], "ipn_callback_url": shop.receiver.url,
    });
    body.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    let created = shop.merchant.client.post("/v1/links", &body).await;
    assert_eq!(created.status, 201, "{}", created.body);
    created.json()["link_id"].as_str().unwrap().to_owned()
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

async fn token(shop: &Shop) -> String {
    let mut connection = shop.stack.database.connect().await;
    let token =
        sqlx::query_scalar("select token from subscription order by created_at desc limit 1");
    token.fetch_one(&mut connection).await.unwrap()
}
