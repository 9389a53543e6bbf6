//! `GET /v1/payment/:id`: by `payment_id`, then by `order_id`, and never another merchant's.

use serde_json::{Value, json};
use support::{client::Client, server::stack::with_stack};

use crate::api::order;

async fn create(shop: &Client, changes: &Value) -> String {
    let answer = shop.post("/v1/payment", &order(changes)).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.json()["payment_id"].as_str().unwrap().to_owned()
}

async fn found(shop: &Client, reference: &str) -> Value {
    let answer = shop.get(&format!("/v1/payment/{reference}")).await;
    assert_eq!(answer.status, 200, "{reference}: {}", answer.body);
    answer.json()["payment_id"].clone()
}

/// Percent-encodes every byte but the unreserved ones.
fn encoded(text: &str) -> String {
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|b| if unreserved(b) { char::from(b).to_string() } else { format!("%{b:02X}") })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_id_wins_over_an_order_id_inside_the_merchant() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        let first = create(&shop, &json!({"order_id": "A-1"})).await;
        let imposter = create(&shop, &json!({"order_id": first})).await;
        assert_eq!(found(&shop, &first).await, first.as_str());
        assert_eq!(found(&shop, &imposter).await, imposter.as_str());
        assert_eq!(found(&shop, "A-1").await, first.as_str());

        // Another merchant's id as an order_id finds the own invoice, and reveals nothing of the
        // other.
        let rival = stack.merchant().await.client;
        let own = create(&rival, &json!({"order_id": first})).await;
        assert_eq!(found(&rival, &first).await, own.as_str());
        assert_eq!(found(&shop, &first).await, first.as_str());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_duplicates_an_order_id_finds_one_of_them() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        let mut ids = Vec::new();
        for _ in 0..3 {
            ids.push(json!(create(&shop, &json!({"order_id": "same"})).await));
        }
        assert!(ids.contains(&found(&shop, "same").await));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn any_order_id_can_be_read_back_through_the_path() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let shop = stack.merchant().await.client;
        let long = "x".repeat(255);
        let wide = "𝄞".repeat(255);
        for order_id in [
            "a/b",
            "a b",
            "100%",
            "%2F",
            "?a=b&c#d",
            "ü",
            ".",
            "..",
            "../payment",
            "\n",
            "a;b",
            "+",
            &long,
            &wide,
        ] {
            let id = create(&shop, &json!({"order_id": order_id})).await;
            let path = encoded(order_id).replace('.', "%2E");
            assert_eq!(found(&shop, &path).await, id.as_str(), "{order_id}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_payment_and_another_merchant_s_payment_get_the_same_404() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let (shop, rival) = (stack.merchant().await.client, stack.merchant().await.client);
        let id = create(&shop, &json!({"order_id": "secret-1"})).await;
        let draft = create(&shop, &json!({"pay_currency": "all", "order_id": "secret-2"})).await;
        let missing = rival.get("/v1/payment/pzi_00000000000000000000000000").await;
        missing.expect_error(404, "PAYMENT_NOT_FOUND");
        let (upper, more) = (id.to_uppercase(), format!("{id}0"));
        let (long, longer) = ("x".repeat(255), "x".repeat(300));
        for reference in [
            id.as_str(),
            "secret-1",
            draft.as_str(),
            "secret-2",
            &upper,
            &more,
            "unknown",
            "pzi_",
            "%2F",
            "%00",
            "a%00b",
            "%FF",
            "%C3%28",
            "%",
            "%zz",
            "'%20or%201=1--",
            "*",
            &long,
            &longer,
        ] {
            let answer = rival.get(&format!("/v1/payment/{reference}")).await;
            assert_eq!((answer.status, &answer.body), (404, &missing.body), "{reference}");
        }
        for reference in [upper, more] {
            let answer = shop.get(&format!("/v1/payment/{reference}")).await;
            answer.expect_error(404, "PAYMENT_NOT_FOUND");
        }
        assert_eq!(rival.get("/v1/payment").await.json()["total"], 0);
    })
    .await;
}
