//! The limits of the fields of `POST /v1/payment`, each at its edges.

use gateway::asset::Network;
use serde_json::{Value, json};
use support::server::stack::with_stack;

use crate::api::{order, rows_written, shape::expect_plain};

fn url_of(length: usize, character: char) -> String {
    let start = "https://shop.example/";
    start.chars().chain(std::iter::repeat(character)).take(length).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_length_is_allowed_up_to_its_limit_and_not_one_character_more() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let shop = stack.merchant().await.client;
        let text = |length: usize| json!("x".repeat(length));
        let wide = |length: usize| json!("𝄞".repeat(length));
        let url = |length: usize| json!(url_of(length, 'x'));
        // `None`: accepted, and echoed where the payment object has the field.
        let cases: Vec<(&str, Value, Option<&str>)> = vec![
            ("order_id", json!(""), None),
            ("order_id", text(255), None),
            ("order_id", wide(255), None),
            ("order_id", json!("a/b c?d#e%2F\"\\\n\u{202e}"), None),
            ("order_id", text(256), Some("INVALID_REQUEST")),
            ("order_id", wide(256), Some("INVALID_REQUEST")),
            ("order_id", json!("a\0b"), Some("INVALID_REQUEST")),
            ("order_description", text(2_000), None),
            ("order_description", wide(2_000), None),
            ("order_description", text(2_001), Some("INVALID_REQUEST")),
            ("success_url", url(2_048), None),
            ("success_url", json!(url_of(2_048, 'é')), None),
            ("success_url", url(2_049), Some("INVALID_REQUEST")),
            ("cancel_url", url(2_048), None),
            ("cancel_url", url(2_049), Some("INVALID_REQUEST")),
            ("ipn_callback_url", url(2_048), None),
            ("purchase_id", json!(""), None),
            ("purchase_id", text(10_000), None),
            ("purchase_id", json!(1), None),
            ("purchase_id", json!({ "mine": [1, null] }), None),
            ("purchase_id", json!(["a\0b", true]), None),
            // An empty text is no URL: as if it were absent.
            ("success_url", json!(""), None),
            ("cancel_url", json!(""), None),
            ("price_currency", text(1), Some("INVALID_REQUEST")),
            ("price_currency", text(2), Some("INVALID_REQUEST")),
            ("price_currency", text(9), Some("INVALID_REQUEST")),
            ("price_currency", json!(""), Some("INVALID_REQUEST")),
            ("price_currency", json!("usd "), Some("INVALID_REQUEST")),
            ("pay_currency", text(1), Some("INVALID_REQUEST")),
            ("pay_currency", text(2), Some("CURRENCY_NOT_SUPPORTED")),
            ("pay_currency", text(32), Some("CURRENCY_NOT_SUPPORTED")),
            ("pay_currency", text(33), Some("INVALID_REQUEST")),
            ("network", json!(""), Some("INVALID_REQUEST")),
        ];
        for (field, value, code) in cases {
            let answer = shop.post("/v1/payment", &order(&json!({ field: value }))).await;
            let what = value.to_string().chars().take(30).collect::<String>();
            match code {
                Some(code) => {
                    assert_eq!(answer.status, 400, "{field} {what}");
                    answer.expect_error(400, code);
                }
                None => {
                    assert_eq!(answer.status, 201, "{field} {what}: {}", answer.body);
                    let payment = answer.json();
                    if field != "purchase_id" && payment.get(field).is_some() {
                        assert_eq!(payment[field], value, "{field} {what}");
                    }
                }
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_price_is_kept_exactly_or_refused() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let shop = stack.merchant().await.client;
        for (price, kept) in [
            ("25", Some("25")),
            ("25.0", Some("25")),
            ("25.10", Some("25.1")),
            ("2.5e1", Some("25")),
            ("2500E-2", Some("25")),
            ("0.30000000000000004e2", Some("30.000000000000004")),
            ("25.000000000000000001", Some("25.000000000000000001")),
            ("999999999999999.999999999999999999", Some("999999999999999.999999999999999999")),
            ("1000000000000000", None),
            ("25.0000000000000000001", None),
            ("9007199254740993", None),
            ("12345678901234567890123456789012345", None),
            ("0", None),
            ("0.0", None),
            ("-0", None),
            ("-0.0", None),
            ("-1", None),
            ("1e999", None),
            ("1e999999999999999999999", None),
            ("1e-400", None),
            ("0e999", None),
            ("NaN", None),
            ("Infinity", None),
            ("+25", None),
            ("025", None),
            (".5", None),
            ("25.", None),
            ("0x19", None),
            ("\"25\"", None),
            ("\"1.5\"", None),
            ("true", None),
            ("null", None),
            ("[25]", None),
            ("{\"$serde_json::private::Number\":\"25\"}", None),
        ] {
            let before = rows_written(&stack).await;
            let body = format!(
                r#"{{"price_amount":{price},"price_currency":"usd","pay_currency":"usdtmatic"}}"#
            );
            let answer = shop.send(http::Method::POST, "/v1/payment", &body).await;
            match kept {
                Some(kept) => {
                    assert_eq!(answer.status, 201, "{price}: {}", answer.body);
                    let id = answer.json()["payment_id"].as_str().unwrap().to_owned();
                    let read = shop.get(&format!("/v1/payment/{id}")).await;
                    assert_eq!(read.json()["price_amount"].to_string(), kept);
                    assert_eq!(read.body, answer.body);
                }
                None => {
                    answer.expect_error(400, "INVALID_REQUEST");
                    assert_eq!(rows_written(&stack).await, before, "{price}");
                }
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_amount_beyond_128_bits_is_refused_and_never_fails() {
    with_stack(|stack| async move {
        stack.gateway.fill_addresses(Network::Near, 10).await.unwrap();
        let shop = stack.merchant().await.client;
        for (price, price_currency, pay_currency, mode, status) in [
            // NEAR has 24 decimals: 2¹²⁸ base units are 340282366920938.46… NEAR.
            ("340282366920938", "near", "near", "direct", 201),
            ("340282366920939", "near", "near", "direct", 400),
            ("999999999999999", "usd", "near", "fiat", 201),
            ("999999999999999", "usd", "shib", "fiat", 201),
            ("999999999999999.999999999999999999", "usd", "btc", "fiat", 201),
        ] {
            let body = format!(
                r#"{{"price_amount":{price},"price_currency":"{price_currency}",
                     "pay_currency":"{pay_currency}","pricing_mode":"{mode}"}}"#
            );
            let answer = shop.send(http::Method::POST, "/v1/payment", &body).await;
            assert_eq!(answer.status, status, "{body}: {}", answer.body);
            if status == 400 {
                answer.expect_error(400, "INVALID_REQUEST");
            } else {
                expect_plain(&answer.json()["pay_amount"].to_string());
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_buyer_is_only_ever_sent_to_a_web_page() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let shop = stack.merchant().await.client;
        for (url, status) in [
            ("https://shop.example", 201),
            ("http://shop.example:8080/ok?a=b#c", 201),
            ("HTTPS://SHOP.EXAMPLE/", 201),
            ("http://localhost:3000/ok", 201),
            ("javascript:alert(1)", 400),
            ("javascript://shop.example/%0aalert(1)", 400),
            ("JaVaScRiPt:alert(1)", 400),
            ("data:text/html,x", 400),
            ("ftp://shop.example/", 400),
            ("file:///etc/passwd", 400),
            ("//shop.example/", 400),
            ("/ok", 400),
            ("shop.example", 400),
            ("https://", 400),
            ("https://user@shop.example/", 400),
            ("https://:password@shop.example/", 400),
            ("https://shop example/", 400),
            (" ", 400),
        ] {
            for field in ["success_url", "cancel_url"] {
                let answer = shop.post("/v1/payment", &order(&json!({ field: url }))).await;
                assert_eq!(answer.status, status, "{field} {url:?}: {}", answer.body);
                if status == 400 {
                    answer.expect_error(400, "INVALID_REQUEST");
                }
            }
        }
    })
    .await;
}
