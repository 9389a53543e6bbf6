//! "Authentication": every merchant endpoint, every way to fail.

use gateway_api::{Access, endpoints};
use http::Method;
use serde_json::{Value, json};
use support::{
    client::{Answer, Client},
    server::stack::{Stack, with_stack},
};

use super::{order, rows_written};

/// Every authenticated endpoint, with a request that would succeed with a key. `HEAD` is part of
/// every `GET`.
async fn ask_all(client: &Client) -> Vec<(String, Answer)> {
    let mut answers = Vec::new();
    for endpoint in endpoints().iter().filter(|endpoint| endpoint.access == Access::Merchant) {
        let path = endpoint.path.replace("{id}", "A-1").replace("{device_id}", "A-1");
        let body =
            if endpoint.method == Method::POST { body_of(endpoint.path) } else { json!(null) };
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = client.send(endpoint.method.clone(), &path, &body).await;
        answers.push((format!("{} {path}", endpoint.method), answer));
    }
    answers
}

/// A body with which a POST would succeed, where it needs no id.
fn body_of(path: &str) -> Value {
    match path {
        "/v1/sandbox/deposit" => json!({ "payment_id": "A-1", "amount": 1 }),
        "/v1/sandbox/expire" => json!({ "payment_id": "A-1" }),
        "/v1/sandbox/advance" => json!({ "subscription_id": "pzs_none", "days": 1 }),
        "/v1/links" => {
            json!({ "type": "payment", "title": "x", "price_amount": 1, "price_currency": "usd" })
        }
        "/v1/links/{id}/devices" => json!({ "name": "Counter" }),
        _ => order(&json!({})),
    }
}

async fn expect_all(client: &Client, status: u16, code: &str) {
    for (what, answer) in ask_all(client).await {
        assert_eq!(answer.status, status, "{what}: {}", answer.body);
        answer.expect_error(status, code);
        assert_eq!(answer.header("x-ratelimit-limit"), None, "{what}");
    }
}

async fn with_an_order(stack: &Stack) -> support::server::stack::Merchant {
    let merchant = stack.merchant().await;
    let created = merchant.client.post("/v1/payment", &order(&json!({"order_id": "A-1"}))).await;
    assert_eq!(created.status, 201, "{}", created.body);
    merchant
}

/// The specification's table "Endpoints" and the document that describes it.
#[test]
fn the_router_serves_the_endpoints_of_the_specification_and_no_other() {
    let served: Vec<_> =
        endpoints().iter().map(|e| format!("{} {} {:?}", e.method, e.path, e.access)).collect();
    assert_eq!(
        served,
        [
            "GET /v1/status Anyone",
            "GET /v1/openapi.json Anyone",
            "GET /v1/currencies Anyone",
            "GET /v1/estimate Anyone",
            "GET /v1/min-amount Anyone",
            "GET /v1/invoices/{id}/status Anyone",
            "POST /v1/payment Merchant",
            "GET /v1/payment/{id} Merchant",
            "GET /v1/payment Merchant",
            "GET /v1/payment/{id}/deposits Merchant",
            "GET /v1/balance Merchant",
            "GET /v1/full-currencies Merchant",
            "GET /v1/merchant/coins Merchant",
            "POST /v1/invoice Merchant",
            "POST /v1/sandbox/deposit Merchant",
            "POST /v1/sandbox/expire Merchant",
            "GET /v1/events Merchant",
            "GET /v1/events/{id} Merchant",
            "POST /v1/events/resend Merchant",
            "POST /v1/events/{id}/resend Merchant",
            "POST /v1/webhooks/test Merchant",
            "POST /v1/links Merchant",
            "GET /v1/links Merchant",
            "GET /v1/links/{id} Merchant",
            "PATCH /v1/links/{id} Merchant",
            "POST /v1/links/{id}/devices Merchant",
            "GET /v1/links/{id}/devices Merchant",
            "DELETE /v1/links/{id}/devices/{device_id} Merchant",
            "GET /v1/subscriptions Merchant",
            "GET /v1/subscriptions/{id} Merchant",
            "POST /v1/subscriptions/{id}/cancel Merchant",
            "POST /v1/sandbox/advance Merchant",
            "GET /v1/export/reports Merchant",
            "GET /v1/export/reports/{month} Merchant",
            "GET /v1/export/{export} Merchant",
            "GET /v1/x402/discovery Anyone",
            "GET /v1/x402/discovery/resources Anyone",
            "GET /v1/x402/discovery/search Anyone",
            "GET /v1/x402/supported Anyone",
            "POST /v1/x402/verify Merchant",
            "POST /v1/x402/settle Merchant",
            "POST /v1/x402/resources Merchant",
            "GET /v1/x402/resources Merchant",
            "GET /v1/x402/resources/{id} Merchant",
            "DELETE /v1/x402/resources/{id} Merchant",
            "GET /v1/x402/pay/{id} Anyone",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_merchant_endpoint_demands_a_key_and_no_other_endpoint_does() {
    with_stack(|stack| async move {
        with_an_order(&stack).await;
        let before = rows_written(&stack).await;
        expect_all(&stack.anybody(), 401, "API_KEY_MISSING").await;
        let head = stack.anybody().send(Method::HEAD, "/v1/payment", "").await;
        assert_eq!(head.status, 401);
        assert_eq!(rows_written(&stack).await, before);
        for endpoint in endpoints().iter().filter(|endpoint| endpoint.access == Access::Anyone) {
            let path = endpoint.path.replace("{id}", "A-1");
            let answer = stack.anybody().send(endpoint.method.clone(), &path, "").await;
            assert!(![401, 403].contains(&answer.status), "{path}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_taken_from_the_header_alone_and_by_its_whole_value() {
    with_stack(|stack| async move {
        let merchant = with_an_order(&stack).await;
        let key = merchant.new.api_key.reveal();
        let anybody = stack.anybody();
        for (value, code) in [
            (String::new(), "API_KEY_MALFORMED"),
            ("a".repeat(31), "API_KEY_MALFORMED"),
            ("a".repeat(32), "API_KEY_NOT_FOUND"),
            ("a".repeat(64), "API_KEY_NOT_FOUND"),
            ("a".repeat(256), "API_KEY_NOT_FOUND"),
            ("a".repeat(257), "API_KEY_MALFORMED"),
            ("é".repeat(40), "API_KEY_MALFORMED"),
            ("a b".repeat(20), "API_KEY_MALFORMED"),
            (key[..63].to_owned(), "API_KEY_NOT_FOUND"),
            (key.to_uppercase(), "API_KEY_NOT_FOUND"),
            (format!("Bearer {key}"), "API_KEY_MALFORMED"),
            (format!("{key},{key}"), "API_KEY_NOT_FOUND"),
        ] {
            expect_all(&anybody.clone().with_key(&value), 401, code).await;
        }
        let twice = anybody.clone().with_key(key).with_key(key);
        expect_all(&twice, 401, "API_KEY_MALFORMED").await;
        for header in ["authorization", "x-api-keys", "api-key", "x_api_key"] {
            expect_all(&anybody.clone().with_header(header, key), 401, "API_KEY_MISSING").await;
        }
        for query in ["x-api-key", "api_key", "key"] {
            let answer = anybody.get(&format!("/v1/payment?{query}={key}")).await;
            answer.expect_error(401, "API_KEY_MISSING");
        }
        for header in ["x-api-key", "X-API-KEY", "X-Api-Key"] {
            // hyper writes names in lower case, so the spelling is put on the wire by hand.
            let request = format!("GET /v1/payment/A-1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{header}: {key}\r\n\r\n");
            let answer = support::client::raw::exchange(stack.api, request.as_bytes()).await;
            assert_eq!(answer.status(), Some(200), "{header}: {answer:?}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotated_key_is_unknown_at_once_on_every_replica() {
    with_stack(|stack| async move {
        let merchant = with_an_order(&stack).await;
        let replica = stack.replica("").await;
        let old = merchant.new.api_key.reveal();
        assert_eq!(Client::new(replica).with_key(old).get("/v1/payment/A-1").await.status, 200);
        let new = stack.gateway.rotate_key(merchant.new.id).await.unwrap();
        for server in [stack.api, replica] {
            expect_all(&Client::new(server).with_key(old), 401, "API_KEY_NOT_FOUND").await;
            let answer = Client::new(server).with_key(new.reveal()).get("/v1/payment/A-1").await;
            assert_eq!(answer.status, 200, "{}", answer.body);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suspended_merchant_is_forbidden_everywhere_until_it_is_resumed() {
    with_stack(|stack| async move {
        let merchant = with_an_order(&stack).await;
        let replica = stack.replica("").await;
        let elsewhere = Client::new(replica).with_key(merchant.new.api_key.reveal());
        stack.gateway.set_suspended(merchant.new.id, true).await.unwrap();
        expect_all(&merchant.client, 403, "MERCHANT_SUSPENDED").await;
        expect_all(&elsewhere, 403, "MERCHANT_SUSPENDED").await;
        stack.gateway.set_suspended(merchant.new.id, false).await.unwrap();
        for (what, answer) in ask_all(&merchant.client).await {
            assert!(![401, 403].contains(&answer.status), "{what}: {}", answer.body);
        }
    })
    .await;
}
