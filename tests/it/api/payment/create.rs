//! `POST /v1/payment` with a concrete currency and a fiat price.

use std::collections::HashSet;

use gateway::asset::Network;
use serde_json::{Value, json};
use support::server::{
    broker::eventually,
    stack::{Stack, with_stack},
};

use crate::api::{
    order, rows_written,
    shape::{expect_payment, expect_places_at_most},
};

async fn fill_pools(stack: &Stack) {
    for network in [Network::Solana, Network::Near] {
        stack.gateway.fill_addresses(network, 10).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_invoice_is_the_whole_payment_object_and_reads_back_the_same() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        let body = order(&json!({
            "price_amount": 25.5, "price_currency": "EUR", "order_id": "A-1", "order_description": "two <b>cups</b>",
            "ipn_callback_url": "https://shop.example/ipn?x=1", "purchase_id": "mine", "success_url": "https://shop.example/ok",
            "cancel_url": "https://shop.example/no", "unknown": [{"ignored": true}],
        }));
        let answer = shop.post("/v1/payment", &body).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert_eq!(answer.header("x-gateway-idempotent-replay"), None);
        let payment = answer.json();
        expect_payment(&payment);
        let checkout = format!("http://{}/pay/{}", stack.checkout, payment["payment_id"].as_str().unwrap());
        let contract = "0xc2132D05D31c914a87C6611C10748AEb04B58e8F";
        for (field, expected) in [
            ("payment_status", json!("waiting")),
            ("pay_currency", json!("usdtmatic")),
            ("network", json!("polygon")),
            ("network_precision", json!(6)),
            ("smart_contract", json!(contract)),
            ("price_currency", json!("eur")),
            ("actually_paid", json!(0)),
            ("order_id", json!("A-1")),
            ("order_description", json!("two <b>cups</b>")),
            ("ipn_callback_url", json!("https://shop.example/ipn?x=1")),
            ("invoice_url", json!(checkout)),
            ("invoice_type", json!("payment")),
            ("time_limit", json!("00:30:00")),
            ("updated_at", payment["created_at"].clone()),
            ("subscriber_email", json!(null)),
            ("subscription_cycle", json!(null)),
            ("next_renewal_at", json!(null)),
        ] {
            assert_eq!(payment[field], expected, "{field}");
        }
        // 25.5 EUR at 0.8 EUR.
        assert_eq!(payment["pay_amount"].to_string(), "31.875");
        assert_eq!(payment["price_amount"].to_string(), "25.5");
        let at = |field: &str| {
            chrono::DateTime::parse_from_rfc3339(payment[field].as_str().unwrap()).unwrap()
        };
        assert_eq!((at("expiration_estimate_date") - at("created_at")).num_minutes(), 30);

        for reference in [payment["payment_id"].as_str().unwrap(), "A-1"] {
            let read = shop.get(&format!("/v1/payment/{reference}")).await;
            assert_eq!((read.status, read.body), (200, answer.body.clone()));
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_listed_currency_can_be_paid_in_at_its_estimate_and_each_invoice_has_its_own_address()
{
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        fill_pools(&stack).await;
        let shop = stack.merchant().await.client;
        let currencies = stack.anybody().get("/v1/currencies").await.json();
        let mut addresses = HashSet::new();
        for entry in currencies["currencies_detailed"].as_array().unwrap() {
            let body = order(&json!({
                "price_amount": 600.01, "pay_currency": entry["symbol"], "network": entry["chain"],
            }));
            let answer = shop.post("/v1/payment", &body).await;
            assert_eq!(answer.status, 201, "{entry}: {}", answer.body);
            let payment = answer.json();
            expect_payment(&payment);
            for (field, same) in [
                ("pay_currency", "code"),
                ("network", "chain"),
                ("network_precision", "decimals"),
                ("smart_contract", "contract_address"),
            ] {
                assert_eq!(payment[field], entry[same], "{field} of {entry}");
            }
            let amount = payment["pay_amount"].to_string();
            expect_places_at_most(&amount, 8);
            let (symbol, chain) =
                (entry["symbol"].as_str().unwrap(), entry["chain"].as_str().unwrap());
            let query =
                format!("amount=600.01&currency_from=usd&currency_to={symbol}&network={chain}");
            let estimate = stack.anybody().get(&format!("/v1/estimate?{query}")).await.json();
            assert_eq!(estimate["estimated_amount"], amount.as_str(), "{entry}");
            assert!(addresses.insert(payment["pay_address"].to_string()), "reused in {payment}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_currency_is_named_by_code_by_symbol_and_network_or_by_alias() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let shop = stack.merchant().await.client;
        let none = Value::Null;
        for (pay_currency, network, token) in [
            ("usdtmatic", none.clone(), Some(("usdtmatic", "polygon"))),
            ("USDTMATIC", none.clone(), Some(("usdtmatic", "polygon"))),
            ("usdt", json!("polygon"), Some(("usdtmatic", "polygon"))),
            ("USDT", json!("Polygon"), Some(("usdtmatic", "polygon"))),
            ("usdt", json!("bsc"), Some(("usdtbsc", "bsc"))),
            ("usdtmatic", json!("polygon"), Some(("usdtmatic", "polygon"))),
            ("eth", none.clone(), Some(("eth", "ethereum"))),
            ("eth", json!("arbitrum"), Some(("eth", "arbitrum"))),
            ("eth", json!("base"), Some(("eth", "base"))),
            ("etharb", none.clone(), Some(("eth", "arbitrum"))),
            ("ethop", none.clone(), Some(("eth", "optimism"))),
            ("ethbase", none.clone(), Some(("eth", "base"))),
            ("matic", none.clone(), Some(("pol", "polygon"))),
            ("avaxc", none.clone(), Some(("avax", "avalanche"))),
            ("usdc", none.clone(), Some(("usdcerc20", "ethereum"))),
            ("usdt", none.clone(), None),
            ("xyz", none.clone(), None),
            ("eth", json!("bitcoin"), None),
            ("usdt", json!("moon"), None),
            ("usdt", json!("x".repeat(255)), None),
            ("usdtmatic", json!("tron"), None),
            ("all", json!("polygon"), None),
            ("usdt", json!("near"), None),
            ("usdtnear", none.clone(), None),
            ("ｅｔｈ", none.clone(), None),
        ] {
            let changes = json!({
                "price_amount": 600, "pay_currency": pay_currency, "network": network,
            });
            let answer = shop.post("/v1/payment", &order(&changes)).await;
            match token {
                None => answer.expect_error(400, "CURRENCY_NOT_SUPPORTED"),
                Some((code, chain)) => {
                    assert_eq!(answer.status, 201, "{changes}: {}", answer.body);
                    assert_eq!(answer.json()["pay_currency"], code, "{changes}");
                    assert_eq!(answer.json()["network"], chain, "{changes}");
                }
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disabled_currency_is_as_unknown_as_a_misspelt_one() {
    with_stack(|stack| async move {
        let mut connection = stack.gateway.db.connection().await.unwrap();
        let disable = gateway::storage::currencies::set_enabled;
        disable(&mut connection, "usdtmatic@polygon", false).await.unwrap();
        drop(connection);
        let shop = stack.merchant().await.client;
        let disabled = shop.post("/v1/payment", &order(&json!({}))).await;
        disabled.expect_error(400, "CURRENCY_NOT_SUPPORTED");
        let misspelt =
            shop.post("/v1/payment", &order(&json!({"pay_currency": "usdtmagic"}))).await;
        assert_eq!(disabled.body, misspelt.body);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_one_unit_below_the_minimum_is_refused_and_the_minimum_is_not() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let shop = stack.merchant().await.client;
        for (fiat, currency, enough, too_little) in [
            // 2 USD, which is 1.6 EUR or 1.5 GBP.
            ("usd", "usdtmatic", "2", "1.999999999999999999"),
            ("eur", "usdtmatic", "1.6", "1.599999999999999999"),
            ("gbp", "usdtmatic", "1.5", "1.499999999999999999"),
            ("usd", "btc", "250", "249.999999999999999999"),
            ("eur", "btc", "200.0", "199.999999999999999999"),
        ] {
            for (price, status) in [(enough, 201), (too_little, 400)] {
                let body = format!(
                    r#"{{"price_amount":{price},"price_currency":"{fiat}","pay_currency":"{currency}"}}"#
                );
                let answer = shop.send(http::Method::POST, "/v1/payment", &body).await;
                assert_eq!(answer.status, status, "{body}: {}", answer.body);
                if status == 400 {
                    answer.expect_error(400, "AMOUNT_BELOW_MINIMUM");
                }
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_fresh_rate_nothing_is_created() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let shop = stack.merchant().await.client;
        let bodies = [
            order(&json!({})),
            order(&json!({"pay_currency": "all"})),
            order(&json!({"pricing_mode": "direct", "price_currency": "usdt"})),
        ];
        stack.sql("update rate set observed_at = now() - interval '301 seconds'").await;
        for body in &bodies {
            shop.post("/v1/payment", body).await.expect_error(503, "RATE_PROVIDER_DOWN");
        }
        // A market that knows no rate at all: a replica that never saw one.
        stack.sql("delete from rate").await;
        let empty = support::client::Client::new(stack.replica("").await);
        let key = stack.merchant().await.new.api_key;
        for body in &bodies {
            let answer = empty.clone().with_key(key.reveal()).post("/v1/payment", body).await;
            answer.expect_error(503, "RATE_PROVIDER_DOWN");
        }
        assert_eq!(rows_written(&stack).await, [0; 4]);

        stack.refresh_rates().await;
        eventually("creation works again", async || {
            (shop.post("/v1/payment", &bodies[0]).await.status == 201).then_some(())
        })
        .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn links_are_made_of_the_configuration_and_never_of_a_request_s_host() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        let shop = shop
            .with_header("x-forwarded-host", "evil.example")
            .with_header("x-forwarded-proto", "https")
            .with_header("forwarded", "host=evil.example");
        let answer = shop.post("/v1/payment", &order(&json!({}))).await;
        assert_eq!(answer.status, 201);
        assert!(!answer.body.contains("evil"), "{}", answer.body);
        let url = answer.json()["invoice_url"].as_str().unwrap().to_owned();
        assert!(url.starts_with(&format!("http://{}/pay/pzi_", stack.checkout)), "{url}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_optional_url_is_as_if_it_were_absent() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        let empty = json!({ "ipn_callback_url": "", "success_url": "", "cancel_url": "" });
        let created = shop.post("/v1/payment", &order(&empty)).await;
        assert_eq!(created.status, 201, "{}", created.body);
        let payment = created.json();
        assert!(payment["ipn_callback_url"].is_null(), "{payment}");
        let id = payment["payment_id"].as_str().unwrap();
        stack.gateway.cancel_invoice(id).await.unwrap();
        let status = stack.anybody().get(&format!("/v1/invoices/{id}/status")).await.json();
        assert!(status["redirect_url"].is_null(), "{status}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_limit_has_two_digits_of_hours_also_for_a_merchant_with_longer_windows() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        // As a program of an earlier release stores it.
        stack
            .sql("update merchant set payment_window_seconds = 2592000, selection_window_seconds = 360000")
            .await;
        for pay_currency in ["usdtmatic", "all"] {
            let asked = order(&json!({ "pay_currency": pay_currency }));
            let payment = shop.post("/v1/payment", &asked).await.json();
            assert_eq!(payment["time_limit"], "99:59:59");
            let at = |field: &str| {
                chrono::DateTime::parse_from_rfc3339(payment[field].as_str().unwrap()).unwrap()
            };
            let window = at("expiration_estimate_date") - at("created_at");
            assert_eq!(window.num_seconds(), 359_999, "{payment}");
        }
    })
    .await;
}
