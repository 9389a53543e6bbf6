//! `pricing_mode` = `direct`: the price is the amount.

use serde_json::json;
use support::server::stack::with_stack;

use crate::api::order;

#[tokio::test(flavor = "multi_thread")]
async fn direct_pricing_of_the_buyers_choice_is_invalid_with_or_without_a_network() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        for pay_currency in ["all", "ALL"] {
            for network in [json!(null), json!("polygon"), json!("moon")] {
                let asked = order(&json!({
                    "pricing_mode": "direct", "price_currency": "usdt", "pay_currency": pay_currency,
                    "network": network,
                }));
                shop.post("/v1/payment", &asked).await.expect_error(400, "INVALID_REQUEST");
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn direct_pricing_asks_for_exactly_the_price_or_refuses_it() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let shop = stack.merchant().await.client;
        for (price, price_currency, pay_currency, outcome) in [
            ("25.000001", "usdt", "usdtmatic", Ok("25.000001")),
            ("25.5000000000", "USDT", "usdtmatic", Ok("25.5")),
            ("0.123456789012345678", "eth", "eth", Ok("0.123456789012345678")),
            ("1e1", "eth", "etharb", Ok("10")),
            ("999999999999999", "usdt", "usdtmatic", Ok("999999999999999")),
            // The minimum of bitcoin is 250 USD, which is 0.0041666… BTC.
            ("0.00416667", "btc", "btc", Ok("0.00416667")),
            ("0.00416666", "btc", "btc", Err("AMOUNT_BELOW_MINIMUM")),
            ("2", "usdt", "usdtmatic", Ok("2")),
            ("1.999999", "usdt", "usdtmatic", Err("AMOUNT_BELOW_MINIMUM")),
            ("25.0000001", "usdt", "usdtmatic", Err("INVALID_REQUEST")),
            ("0.123456789", "btc", "btc", Err("INVALID_REQUEST")),
            ("25", "usd", "usdtmatic", Err("INVALID_REQUEST")),
            ("25", "usdc", "usdtmatic", Err("INVALID_REQUEST")),
            ("25", "btc", "eth", Err("INVALID_REQUEST")),
            ("25", "usdt", "xyz", Err("CURRENCY_NOT_SUPPORTED")),
            ("25", "usdt", "all", Err("INVALID_REQUEST")),
            ("25", "usd", "all", Err("INVALID_REQUEST")),
            ("25", "all", "all", Err("INVALID_REQUEST")),
        ] {
            let body = format!(
                r#"{{"price_amount":{price},"price_currency":"{price_currency}",
                     "pay_currency":"{pay_currency}","pricing_mode":"direct"}}"#
            );
            let answer = shop.send(http::Method::POST, "/v1/payment", &body).await;
            match outcome {
                Err(code) => answer.expect_error(400, code),
                Ok(amount) => {
                    assert_eq!(answer.status, 201, "{body}: {}", answer.body);
                    let payment = answer.json();
                    assert_eq!(payment["pay_amount"].to_string(), amount);
                    assert_eq!(payment["price_amount"].to_string(), amount);
                    assert_eq!(payment["price_currency"], price_currency.to_lowercase());
                }
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pricing_mode_is_fiat_unless_said_otherwise() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        for (changes, status) in [
            (json!({}), 201),
            (json!({"pricing_mode": "fiat"}), 201),
            (json!({"pricing_mode": null}), 201),
            (json!({"pricing_mode": "FIAT"}), 400),
            (json!({"pricing_mode": ""}), 400),
            (json!({"pricing_mode": "other"}), 400),
            (json!({"price_currency": "usdt"}), 400),
            (json!({"price_currency": "usdt", "pricing_mode": "fiat"}), 400),
            (json!({"price_currency": "jpy"}), 400),
        ] {
            let answer = shop.post("/v1/payment", &order(&changes)).await;
            assert_eq!(answer.status, status, "{changes}: {}", answer.body);
            if status == 400 {
                answer.expect_error(400, "INVALID_REQUEST");
            }
        }
    })
    .await;
}
