//! `x-request-id`: on every answer of both origins, whatever its outcome.

use serde_json::json;
use support::{
    client::{Answer, Client},
    server::stack::{Stack, with_stack},
};

use super::order;

fn id(answer: &Answer) -> &str {
    let mut values = answer.headers.get_all("x-request-id").iter();
    let value = values.next().expect("an answer without an id").to_str().unwrap();
    assert_eq!(values.next(), None, "two ids");
    value
}

/// Answers of every kind, of both origins.
async fn answers(stack: &Stack, key: &str, with: impl Fn(Client) -> Client) -> Vec<(u16, Answer)> {
    let (api, buyer) = (with(stack.anybody()), with(stack.buyer()));
    let shop = api.clone().with_key(key);
    let created = shop.post("/v1/payment", &order(&json!({}))).await;
    let page = format!("/pay/{}", created.json()["payment_id"].as_str().unwrap());
    vec![
        (201, created),
        (200, api.get("/v1/status").await),
        (200, api.get("/docs").await),
        (400, shop.post("/v1/payment", &json!({})).await),
        (401, api.get("/v1/payment").await),
        (404, shop.get("/v1/payment/none").await),
        (404, api.get("/nothing").await),
        (405, api.send(http::Method::DELETE, "/v1/status", "").await),
        (404, shop.get("/v1/mass-payout/pzp_none").await),
        (200, buyer.get(&page).await),
        (404, buyer.get("/pay/pzi_none").await),
        (400, buyer.get("/v1/invoices/none/status").await),
        (404, buyer.get("/nothing").await),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_has_an_id_of_its_own() {
    with_stack(|stack| async move {
        let merchant = stack.merchant().await;
        let key = merchant.new.api_key.reveal();
        let mut seen = std::collections::BTreeSet::new();
        for (status, answer) in answers(&stack, key, |client| client).await {
            assert_eq!(answer.status, status, "{}", answer.body);
            assert!(id(&answer).starts_with("req_") && id(&answer).len() == 30, "{}", id(&answer));
            assert!(seen.insert(id(&answer).to_owned()), "{} twice", id(&answer));
            // The envelope stays as it is.
            assert!(!answer.body.contains(id(&answer)), "{}", answer.body);
        }
        for _ in 0..60 {
            merchant.client.get("/v1/payment").await;
        }
        let limited = merchant.client.get("/v1/payment").await;
        limited.expect_error(429, "RATE_LIMIT_EXCEEDED");
        assert!(id(&limited).starts_with("req_"));
        stack.sql("drop table request_window").await;
        let failed = merchant.client.get("/v1/payment").await;
        failed.expect_error(500, "INTERNAL_ERROR");
        assert!(id(&failed).starts_with("req_"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_callers_id_comes_back_if_it_is_short_and_harmless() {
    with_stack(|stack| async move {
        let merchant = stack.merchant().await;
        let key = merchant.new.api_key.reveal();
        let own = |client: Client| client.with_header("X-Request-Id", "shop-7.a_B");
        for (status, answer) in answers(&stack, key, own).await {
            assert_eq!((answer.status, id(&answer)), (status, "shop-7.a_B"), "{}", answer.body);
        }
        let longest = "x".repeat(64);
        let asked = |value: &str| stack.anybody().with_header("x-request-id", value);
        assert_eq!(id(&asked(&longest).get("/v1/status").await), longest);
        for refused in ["", " ", "a b", "a,b", "<b>", "é", "\"", "a/b", &"x".repeat(65)] {
            let answer = asked(refused).get("/v1/status").await;
            assert!(id(&answer).starts_with("req_"), "{refused}");
        }
        let twice = asked("one").with_header("x-request-id", "two");
        assert!(id(&twice.get("/v1/status").await).starts_with("req_"));
    })
    .await;
}
