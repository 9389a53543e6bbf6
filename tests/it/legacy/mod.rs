//! `/legacy`: the API, the forms and the IPNs of the old CoinPayments.

mod address_rules;
mod addresses;
mod api;
mod clients;
mod figures;
mod forms;
mod fuzz;
mod ipn;
mod keys;
mod letters;
mod ordered_once;
mod withdrawals;

use std::net::SocketAddr;

use gateway::app::legacy::keys::NewLegacyKeys;
use hmac::{Hmac, KeyInit, Mac};
use http::Method;
use serde_json::Value;
use sha2::Sha512;
use support::{
    client::{Answer, Client},
    server::stack::{Merchant, Stack},
};
use url::form_urlencoded;

/// A merchant's client of the old API.
struct Legacy {
    keys: NewLegacyKeys,
    client: Client,
}

impl Legacy {
    async fn of(stack: &Stack, merchant: &Merchant) -> Self {
        Self::at(stack, merchant, stack.api).await
    }

    /// The same of another API over the same database.
    async fn at(stack: &Stack, merchant: &Merchant, api: SocketAddr) -> Self {
        let keys = stack.gateway.issue_legacy_keys(merchant.new.id, true).await.unwrap();
        Self::with(keys, api)
    }

    fn with(keys: NewLegacyKeys, api: SocketAddr) -> Self {
        Self { keys, client: Client::new(api) }
    }

    /// The form of a command, without its signature.
    fn form(&self, cmd: &str, fields: &[(&str, &str)]) -> String {
        let main = [("version", "1"), ("key", self.keys.public_key.as_str()), ("cmd", cmd)];
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.extend_pairs(main).extend_pairs(fields).finish()
    }

    async fn send(&self, path: &str, form: &str) -> Answer {
        let signature = hmac(self.keys.private_key.reveal(), form.as_bytes());
        send_signed(&self.client, path, form, &signature).await
    }

    async fn answer(&self, cmd: &str, fields: &[(&str, &str)]) -> Answer {
        self.send("/legacy/api.php", &self.form(cmd, fields)).await
    }

    /// The result of a command that succeeds.
    async fn result(&self, cmd: &str, fields: &[(&str, &str)]) -> Value {
        let answer = self.answer(cmd, fields).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let mut json = answer.json();
        assert_eq!(json["error"], "ok", "{}", answer.body);
        json["result"].take()
    }

    /// Expects a refusal with exactly this text, HTTP 200 and an empty result.
    async fn refusal(&self, cmd: &str, fields: &[(&str, &str)], said: &str) {
        expect_refusal(&self.answer(cmd, fields).await, said);
    }
}

#[track_caller]
fn expect_refusal(answer: &Answer, said: &str) {
    assert_eq!(answer.status, 200, "{}", answer.body);
    let json = answer.json();
    assert_eq!(json["error"], said, "{}", answer.body);
    assert_eq!(json["result"], serde_json::json!([]), "{}", answer.body);
}

async fn send_signed(client: &Client, path: &str, form: &str, signature: &str) -> Answer {
    let client = client.clone().with_header("hmac", signature);
    let client = client.with_header("content-type", "application/x-www-form-urlencoded");
    client.send(Method::POST, path, form).await
}

/// Independently of the gateway's own code.
fn hmac(key: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha512>::new_from_slice(key.as_bytes()).unwrap();
    mac.update(body);
    hex::encode(mac.finalize().into_bytes())
}

/// Twelve dollars and a half in USDT on Polygon.
const ORDER: [(&str, &str); 4] = [
    ("amount", "12.50"),
    ("currency1", "USD"),
    ("currency2", "USDT.POL"),
    ("buyer_email", "ada@example.com"),
];

/// The order with further fields; a later field of the same name counts.
fn order<'a>(fields: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    [ORDER.as_slice(), fields].concat()
}
