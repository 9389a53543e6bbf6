//! Mails to buyers and owners: receipts, reminders and announcements, by a server that speaks SMTP.

mod announcements;
mod budgets;
mod killed;
mod off;
mod receipts;
mod reminders;
mod retries;

use gateway::{invoice::Status, merchant::settings::Settings};
use http::Method;
use serde_json::{Value, json};
use support::{
    client::Answer,
    server::{broker::eventually, smtp::MailServer},
    shop::{Shop, with_configured_shop},
};
use url::form_urlencoded;

/// Settings of mails by this server.
pub fn settings(server: &MailServer) -> String {
    format!(
        "mail.enabled = true\nmail.server = \"{}\"\nmail.security = \"none\"\n\
         mail.from = \"Shop <receipts@shop.example>\"\n",
        server.address
    )
}

/// A shop whose mails go to a server of its own, with `toml` on top.
async fn with_mailing_shop<F: Future<Output = ()>>(
    toml: &str,
    test: impl FnOnce(Shop, MailServer) -> F,
) {
    let server = MailServer::start().await;
    let toml = settings(&server) + toml;
    with_configured_shop(&toml, Settings::default(), |shop| async move {
        shop.stack.lift_rate_limits().await;
        test(shop, server).await;
    })
    .await;
}

async fn link(shop: &Shop, body: Value) -> String {
    let mut terms = json!({
        "title": "Two cups", "price_amount": 10, "price_currency": "usd", "accepted": ["usdtmatic@polygon"],
        "ipn_callback_url": shop.receiver.url,
    });
    terms.as_object_mut().unwrap().extend(body.as_object().unwrap().clone());
    let created = shop.merchant.client.post("/v1/links", &terms).await;
    assert_eq!(created.status, 201, "{}", created.body);
    created.json()["link_id"].as_str().unwrap().to_owned()
}

async fn donations(shop: &Shop) -> String {
    link(shop, json!({ "type": "donation" })).await
}

async fn subscriptions(shop: &Shop) -> String {
    link(shop, json!({ "type": "subscription", "interval": "day", "interval_count": 30 })).await
}

async fn form(shop: &Shop, path: &str, fields: &[(&str, &str)]) -> Answer {
    let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    shop.stack.buyer().send(Method::POST, path, &body).await
}

/// Sends the form of a link's page, and pays the invoice in full.
async fn paid(shop: &Shop, path: &str, fields: &[(&str, &str)]) -> String {
    let sent = form(shop, path, fields).await;
    assert_eq!(sent.status, 303, "{}", sent.body);
    let location = sent.header("location").unwrap();
    let payment = location.strip_prefix("/pay/").unwrap().split('?').next().unwrap().to_owned();
    let choice = json!({ "token_id": "usdtmatic@polygon" });
    let chosen = shop.stack.buyer().post(&format!("/api/pay/{payment}/select"), &choice).await;
    assert_eq!(chosen.status, 200, "{}", chosen.body);
    let due = shop.payment(&payment).await["pay_amount"].to_string();
    shop.pay(&payment, &due).await;
    shop.becomes(&payment, Status::Paid).await;
    payment
}

/// A donation of 10 USD by `email`.
async fn donated(shop: &Shop, link_id: &str, email: &str) -> String {
    let fields = [("amount", "10"), ("donor_email", email)];
    paid(shop, &format!("/l/{link_id}"), &fields).await
}

/// Lets days pass for a subscription.
async fn advance(shop: &Shop, subscription: &Value, days: u32) {
    let body = json!({ "subscription_id": subscription["subscription_id"], "days": days });
    let answer = shop.merchant.client.post("/v1/sandbox/advance", &body).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
}

async fn newest_subscription(shop: &Shop) -> Value {
    shop.merchant.client.get("/v1/subscriptions").await.json()["data"][0].clone()
}

/// Waits until so many mails of this state have this error.
async fn mails_become(shop: &Shop, state: &str, error: Option<&str>, count: i64) {
    eventually("the mails have their state", async || {
        let mut connection = shop.stack.database.connect().await;
        let query =
            "select count(*) from mail where state = $1 and last_error is not distinct from $2";
        let found: i64 = sqlx::query_scalar(query)
            .bind(state)
            .bind(error)
            .fetch_one(&mut connection)
            .await
            .unwrap();
        (found == count).then_some(())
    })
    .await;
}

/// Makes the next attempts due now.
async fn hurry(shop: &Shop) {
    shop.run("update mail set next_attempt_at = now() where state = 'retry_wait'").await;
}
