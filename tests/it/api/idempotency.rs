//! The `Idempotency-Key` header of `POST /v1/payment`.

use futures_util::future::join_all;
use gateway::merchant::settings::Settings;
use http::Method;
use serde_json::json;
use support::{
    client::{Answer, Client},
    server::{broker::eventually, stack::with_stack},
};

use super::{order, rows_written};

const REPLAY: &str = "x-gateway-idempotent-replay";

/// In `make test`; `GATEWAY_TEST_RACES` says otherwise.
const RACES: i64 = 5;

fn races() -> i64 {
    std::env::var("GATEWAY_TEST_RACES").map_or(RACES, |text| text.parse().unwrap())
}

trait Keyed {
    fn keyed(&self, key: &str) -> Client;
}

impl Keyed for Client {
    fn keyed(&self, key: &str) -> Client {
        self.clone().with_header("idempotency-key", key)
    }
}

#[track_caller]
fn expect_replay(answer: &Answer, of: &Answer) {
    assert_eq!((answer.status, &answer.body), (201, &of.body));
    assert_eq!(answer.header(REPLAY), Some("true"));
    assert_eq!(answer.header("content-type"), of.header("content-type"));
}

#[track_caller]
fn expect_created(answer: &Answer) {
    assert_eq!(answer.status, 201, "{}", answer.body);
    assert_eq!(answer.header(REPLAY), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_equal_requests_at_once_make_one_invoice_and_49_equal_replays() {
    with_stack(|stack| async move {
        let replica = stack.replica("").await;
        for race in 1..=races() {
            // Fresh, so that no race meets the rate limit of the one before.
            let merchant = stack.merchant().await;
            let beside = Client::new(replica).with_key(merchant.new.api_key.reveal());
            let shops = [merchant.client.keyed("k"), beside.keyed("k")];
            let body = order(&json!({"order_id": "A-1"}));
            let posts = (0..50).map(|number| shops[number % 2].post("/v1/payment", &body));
            let answers = join_all(posts).await;
            let (replays, first): (Vec<_>, Vec<_>) =
                answers.iter().partition(|answer| answer.header(REPLAY).is_some());
            assert_eq!((first.len(), replays.len()), (1, 49));
            expect_created(first[0]);
            for replay in replays {
                expect_replay(replay, first[0]);
            }
            assert_eq!(rows_written(&stack).await, [race; 4]);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_values_in_another_spelling_are_the_same_request() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client.keyed("k");
        let send = async |body: &str| shop.send(Method::POST, "/v1/payment", body).await;
        let first = send(r#"{"price_amount":25,"price_currency":"usd","pay_currency":"usdt","network":"polygon"}"#).await;
        expect_created(&first);
        for body in [
            r#"{"price_amount":25.0,"price_currency":"usd","pay_currency":"usdt","network":"polygon"}"#,
            r#"{"price_amount":2.5e1,"price_currency":"usd","pay_currency":"usdt","network":"polygon"}"#,
            r#" { "network" : "polygon" , "pay_currency" : "usdt", "price_currency":"usd", "price_amount":25 } "#,
            r#"{"price_amount":25,"price_currency":"USD","pay_currency":"USDT","network":"Polygon"}"#,
            r#"{"price_amount":25,"price_currency":"\u0075sd","pay_currency":"usdt","network":"polygon"}"#,
            r#"{"price_amount":25,"price_currency":"usd","pay_currency":"usdt","network":"polygon","order_id":null}"#,
            r#"{"price_amount":25,"price_currency":"usd","pay_currency":"usdt","network":"polygon","pricing_mode":"fiat"}"#,
            r#"{"price_amount":25,"price_currency":"usd","pay_currency":"usdt","network":"polygon","purchase_id":"p","x":1}"#,
        ] {
            expect_replay(&send(body).await, &first);
        }
        assert_eq!(rows_written(&stack).await, [1; 4]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_request_under_the_same_key_is_refused() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client.keyed("k");
        let first = shop.post("/v1/payment", &order(&json!({}))).await;
        expect_created(&first);
        for changes in [
            json!({"price_amount": 25.01}),
            json!({"price_currency": "eur"}),
            json!({"pay_currency": "usdcmatic"}),
            json!({"pay_currency": "all"}),
            json!({"network": "polygon"}),
            json!({"pricing_mode": "direct", "price_currency": "usdt"}),
            json!({"order_id": ""}),
            json!({"order_id": "A-1"}),
            json!({"order_description": "x"}),
            json!({"ipn_callback_url": "https://shop.example/"}),
            json!({"success_url": "https://shop.example/"}),
            json!({"cancel_url": "https://shop.example/"}),
        ] {
            let answer = shop.post("/v1/payment", &order(&changes)).await;
            assert_eq!(answer.status, 400, "{changes}: {}", answer.body);
            answer.expect_error(400, "INVALID_REQUEST");
            assert!(answer.body.contains("Idempotency-Key"), "{}", answer.body);
        }
        expect_replay(&shop.post("/v1/payment", &order(&json!({}))).await, &first);
        assert_eq!(rows_written(&stack).await, [1; 4]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_belongs_to_its_merchant_and_no_key_means_no_replay() {
    with_stack(|stack| async move {
        let (shop, rival) = (stack.merchant().await.client, stack.merchant().await.client);
        let body = order(&json!({}));
        let mine = shop.keyed("k").post("/v1/payment", &body).await;
        let theirs = rival.keyed("k").post("/v1/payment", &body).await;
        expect_created(&mine);
        expect_created(&theirs);
        assert_ne!(mine.json()["payment_id"], theirs.json()["payment_id"]);
        expect_replay(&rival.keyed("k").post("/v1/payment", &body).await, &theirs);
        expect_created(&shop.keyed("K").post("/v1/payment", &body).await);
        expect_created(&shop.post("/v1/payment", &body).await);
        expect_created(&shop.post("/v1/payment", &body).await);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_has_1_to_255_characters_and_is_sent_once() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        let body = order(&json!({}));
        for (key, fits) in [
            ("x".to_owned(), true),
            ("x".repeat(255), true),
            ("a b\"c', {}".to_owned(), true),
            (String::new(), false),
            ("x".repeat(256), false),
            ("x".repeat(5_000), false),
            ("ü".to_owned(), false),
        ] {
            let answer = shop.keyed(&key).post("/v1/payment", &body).await;
            if fits {
                expect_created(&answer);
                expect_replay(&shop.keyed(&key).post("/v1/payment", &body).await, &answer);
            } else {
                answer.expect_error(400, "INVALID_REQUEST");
            }
        }
        let before = rows_written(&stack).await;
        for second in ["k", "other"] {
            let twice = shop.keyed("k").keyed(second);
            twice.post("/v1/payment", &body).await.expect_error(400, "INVALID_REQUEST");
        }
        assert_eq!(rows_written(&stack).await, before);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_success_is_remembered() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client.keyed("k");
        let too_little = order(&json!({"price_amount": 1}));
        shop.post("/v1/payment", &too_little).await.expect_error(400, "AMOUNT_BELOW_MINIMUM");
        shop.post("/v1/payment", &json!([])).await.expect_error(400, "INVALID_REQUEST");
        expect_created(&shop.post("/v1/payment", &order(&json!({}))).await);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_needs_neither_rates_nor_room_nor_an_open_invoice() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let settings = Settings { open_invoices_max: 1, ..Settings::default() };
        let merchant = stack.merchant_with(settings).await;
        let (shop, body) = (merchant.client.keyed("k"), order(&json!({})));
        let first = shop.post("/v1/payment", &body).await;
        expect_created(&first);
        merchant.client.post("/v1/payment", &body).await.expect_error(429, "QUOTA_EXCEEDED");
        expect_replay(&shop.post("/v1/payment", &body).await, &first);

        let id = first.json()["payment_id"].as_str().unwrap().to_owned();
        stack.gateway.cancel_invoice(&id).await.unwrap();
        expect_replay(&shop.post("/v1/payment", &body).await, &first);

        stack.sql("delete from rate").await;
        eventually("rates are down", async || {
            (merchant.client.post("/v1/payment", &body).await.status == 503).then_some(())
        })
        .await;
        expect_replay(&shop.post("/v1/payment", &body).await, &first);

        stack.gateway.set_suspended(merchant.new.id, true).await.unwrap();
        shop.post("/v1/payment", &body).await.expect_error(403, "MERCHANT_SUSPENDED");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_24_hours_a_key_is_free_again() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client.keyed("k");
        let body = order(&json!({}));
        let first = shop.post("/v1/payment", &body).await;
        stack
            .sql("update idempotency set created_at = now() - interval '23 hours 59 minutes'")
            .await;
        expect_replay(&shop.post("/v1/payment", &body).await, &first);
        stack.sql("update idempotency set created_at = now() - interval '24 hours'").await;
        let other = order(&json!({"price_amount": 26}));
        let second = shop.post("/v1/payment", &other).await;
        expect_created(&second);
        assert_ne!(second.json()["payment_id"], first.json()["payment_id"]);
        expect_replay(&shop.post("/v1/payment", &other).await, &second);
        shop.post("/v1/payment", &body).await.expect_error(400, "INVALID_REQUEST");
    })
    .await;
}
