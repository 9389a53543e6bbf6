//! One merchant requests data of another, at every endpoint that takes a key.

use std::time::{Duration, Instant};

use gateway::{asset::Network, payout::PayoutFamily};
use gateway_api::{Access, endpoints, payout};
use http::Method;
use serde_json::json;
use support::server::stack::{only, with_configured_stack, with_stack};

const NEVER_MADE: &str = "pzi_00000000000000000000000000";

#[tokio::test(flavor = "multi_thread")]
async fn another_merchant_s_object_gets_the_same_404_as_an_unknown_one_from_every_endpoint() {
    with_stack(|stack| async move {
        let (owner, rival) = (stack.merchant().await, stack.merchant().await);
        let body = json!({
            "price_amount": 25, "price_currency": "usd", "pay_currency": "usdtmatic", "order_id": "order-7",
        });
        let keyed = |client: &support::client::Client| client.clone().with_header("idempotency-key", "k");
        let made = keyed(&owner.client).post("/v1/payment", &body).await.json();
        let id = made["payment_id"].as_str().unwrap();
        let mut asked = 0;
        let range = support::books::recent();
        let export =
            format!("invoices?from={}&to={}", range.from.date_naive(), range.to.date_naive());
        for endpoint in endpoints().iter().filter(|endpoint| endpoint.access == Access::Merchant) {
            let names_one = endpoint.path.contains("{id}") || endpoint.path.contains("{month}");
            if names_one {
                let ask = async |name: &str| {
                    let path = endpoint.path.replace("{id}", name).replace("{month}", name);
                    let path = path.replace("{device_id}", name);
                    let answer = rival.client.send(endpoint.method.clone(), &path, "{}").await;
                    let mut headers = answer.headers;
                    for of_each in ["date", "x-request-id"] {
                        headers.remove(of_each);
                    }
                    (answer.status, headers, answer.body)
                };
                let missing = ask(NEVER_MADE).await;
                assert_eq!(missing.0, 404, "{}", endpoint.path);
                assert_eq!(ask(id).await, missing, "{} by id", endpoint.path);
                assert_eq!(ask("order-7").await, missing, "{} by order_id", endpoint.path);
            } else if endpoint.method == Method::GET {
                let path = endpoint.path.replace("{export}", &export);
                let answer = rival.client.get(&path).await;
                assert_eq!(answer.status, 200, "{}", answer.body);
                assert!(!answer.body.contains(id), "{}: {}", endpoint.path, answer.body);
            }
            asked += 1;
        }
        assert!(asked >= 3, "only {asked} endpoints were asked");
        // The other's idempotency key is free for one's own use.
        let own = keyed(&rival.client).post("/v1/payment", &body).await;
        assert_eq!((own.status, own.header("x-gateway-idempotent-replay")), (201, None));
        assert_ne!(own.json()["payment_id"], made["payment_id"]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_merchant_s_payout_gets_the_same_404_as_an_unknown_one_from_every_operation() {
    with_configured_stack(&only(Network::Polygon), |stack| async move {
        let (owner, rival) = (stack.merchant().await, stack.merchant().await);
        let items =
            [json!({ "address": "0x52908400098527886E0F7030069857D2E4169EE7", "amount": "1" })];
        let order = json!({ "network": "polygon", "currency": "usdtmatic", "items": items });
        let evm = payout::path(PayoutFamily::Evm);
        let made = owner.client.post(evm, &order).await.json();
        let id = made["data"]["id"].as_str().unwrap();
        let mut asked = 0;
        for row in payout::operations().iter().filter(|row| row.path.contains("{id}")) {
            let ask = async |client: &support::client::Client, family, id: &str| {
                let path = format!("{}{}", payout::path(family), row.path.replace("{id}", id));
                let answer = client.send(row.method.clone(), &path, "{}").await;
                let mut headers = answer.headers;
                for of_each in ["date", "x-request-id"] {
                    headers.remove(of_each);
                }
                (answer.status, headers, answer.body)
            };
            let missing =
                ask(&rival.client, PayoutFamily::Evm, "empo_00000000000000000000000000").await;
            assert_eq!(missing.0, 404, "{}", row.path);
            assert_eq!(ask(&rival.client, PayoutFamily::Evm, id).await, missing, "{}", row.path);
            // Nor is it an order of the other family, for either merchant.
            let other = ask(&owner.client, PayoutFamily::Utxo, id).await;
            assert_eq!(other, missing, "{}", row.path);
            asked += 1;
        }
        assert!(asked >= 7, "only {asked} operations were asked");
        let listed = rival.client.get(evm).await;
        assert!(listed.status == 200 && !listed.body.contains(id), "{}", listed.body);
        let untouched = owner.client.get(&format!("{evm}/{id}")).await.json();
        assert_eq!(untouched["data"], made["data"]);
    })
    .await;
}

/// No second spelling of a path bypasses the checks of the first.
#[tokio::test(flavor = "multi_thread")]
async fn no_other_spelling_of_a_path_reaches_an_endpoint() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        for path in [
            "/V1/payment",
            "/v1/Payment",
            "//v1/payment",
            "/v1//payment",
            "/v1/./payment",
            "/v1/x/../payment",
            "/v1/%70ayment",
            "/v1/payment;x=1",
            "/v1/payment%3F",
            "/legacy/../v1/payment",
        ] {
            let answer = shop.get(path).await;
            answer.expect_error(404, "NOT_FOUND");
        }
        // A slash at the end is no other path: it asks for the key too.
        stack.anybody().get("/v1/payment/").await.expect_error(401, "API_KEY_MISSING");
        for method in [Method::OPTIONS, Method::PUT, Method::PATCH, Method::DELETE, Method::TRACE] {
            let answer = shop.send(method.clone(), "/v1/payment", "").await;
            answer.expect_error(405, "METHOD_NOT_ALLOWED");
        }
    })
    .await;
}

const PAIRS: usize = 25;
const RIVALS: usize = 4;

/// Medians, taken in turns so that a busy machine slows both alike.
#[tokio::test(flavor = "multi_thread")]
async fn response_times_do_not_distinguish_another_merchant_s_object_from_an_unknown_one() {
    with_stack(|stack| async move {
        let owner = stack.merchant().await;
        let body =
            json!({ "price_amount": 25, "price_currency": "usd", "pay_currency": "usdtmatic" });
        let made = owner.client.post("/v1/payment", &body).await.json();
        let theirs = format!("/v1/payment/{}", made["payment_id"].as_str().unwrap());
        let none = format!("/v1/payment/{NEVER_MADE}");
        let mut took: [Vec<Duration>; 2] = Default::default();
        // A merchant may ask 60 times in a minute.
        for _ in 0..RIVALS {
            let rival = stack.merchant().await.client;
            for _ in 0..PAIRS {
                for (path, took) in [&theirs, &none].into_iter().zip(&mut took) {
                    let started = Instant::now();
                    assert_eq!(rival.get(path).await.status, 404);
                    took.push(started.elapsed());
                }
            }
        }
        let [theirs, none] = took.map(|mut samples| {
            samples.sort();
            samples[samples.len() / 2]
        });
        println!("another's: {theirs:?}, nobody's: {none:?}");
        let apart = theirs.abs_diff(none);
        assert!(apart < theirs.min(none) / 2, "{theirs:?} against {none:?}");
    })
    .await;
}
