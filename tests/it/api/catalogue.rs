//! `GET /v1/currencies`, `/v1/estimate` and `/v1/min-amount`.

use std::collections::HashSet;

use gateway::storage::currencies;
use rust_decimal::Decimal;
use serde_json::{Value, json};
use support::server::{
    broker::eventually,
    stack::{Stack, with_stack},
};

use super::shape::{
    CURRENCY, ESTIMATE, MIN_AMOUNT, expect_fields, expect_places_at_most, expect_plain,
};

/// "Minimum payment amounts in USD": network, its coin, the coin's minimum, the tokens' minimum.
const MINIMUMS: [(&str, &str, i64, Option<i64>); 15] = [
    ("bitcoin", "btc", 250, None),
    ("litecoin", "ltc", 6, None),
    ("dogecoin", "doge", 75, None),
    ("ethereum", "eth", 300, Some(500)),
    ("polygon", "pol", 2, Some(2)),
    ("bsc", "bnb", 20, Some(20)),
    ("arbitrum", "eth", 15, Some(15)),
    ("optimism", "eth", 10, Some(10)),
    ("base", "eth", 10, Some(5)),
    ("avalanche", "avax", 15, Some(15)),
    ("tron", "trx", 2, Some(100)),
    ("solana", "sol", 2, Some(5)),
    ("near", "near", 5, None),
    ("ton", "ton", 5, None),
    ("thorchain", "rune", 5, None),
];

async fn detailed(stack: &Stack) -> Vec<Value> {
    let answer = stack.anybody().get("/v1/currencies").await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()["currencies_detailed"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn currencies_are_listed_flat_and_in_detail_with_the_minimums_of_the_table() {
    with_stack(|stack| async move {
        let json = stack.anybody().get("/v1/currencies").await.json();
        assert_eq!(json.as_object().unwrap().len(), 3);
        assert_eq!(json["fiat_currencies"], json!(["usd", "eur", "gbp"]));
        let entries = json["currencies_detailed"].as_array().unwrap();
        let codes: Vec<_> = entries.iter().map(|entry| entry["code"].clone()).collect();
        assert_eq!(json["currencies"], Value::Array(codes.clone()));
        assert_eq!(codes.iter().filter(|code| *code == "eth").count(), 4);

        let mut seen = HashSet::new();
        for entry in entries {
            expect_fields(entry, CURRENCY);
            let chain = entry["chain"].as_str().unwrap();
            assert!(seen.insert((chain, entry["symbol"].to_string())), "twice: {entry}");
            let row = MINIMUMS.iter().find(|(network, ..)| *network == chain);
            let (_, coin, native_min, token_min) = row.unwrap();
            if entry["contract_address"].is_null() {
                assert_eq!(entry["code"], *coin);
                assert_eq!(entry["standard"], "native");
                assert_eq!(entry["min_amount_usd"], *native_min, "{entry}");
            } else {
                // Where the table has a dash, no token is on sale.
                assert_eq!(entry["min_amount_usd"], token_min.unwrap(), "{entry}");
            }
        }
        for (network, coin, ..) in MINIMUMS {
            assert!(seen.contains(&(network, format!("\"{}\"", coin.to_uppercase()))), "{network}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_minimum_is_the_same_in_currencies_min_amount_and_estimate_for_every_currency() {
    with_stack(|stack| async move {
        for entry in detailed(&stack).await {
            let name = |field: &str| entry[field].as_str().unwrap().to_owned();
            let to = format!("currency_to={}&network={}", name("symbol"), name("chain"));
            let minimum = stack.anybody().get(&format!("/v1/min-amount?{to}")).await.json();
            expect_fields(&minimum, MIN_AMOUNT);
            assert_eq!(minimum["min_amount_usd"], entry["min_amount_usd"], "{entry}");
            expect_places_at_most(&minimum["min_amount"].to_string(), 8);

            let amount = &entry["min_amount_usd"];
            let path = format!("/v1/estimate?amount={amount}&currency_from=usd&{to}");
            let estimate = stack.anybody().get(&path).await.json();
            expect_fields(&estimate, ESTIMATE);
            assert_eq!(estimate["estimated_amount"], minimum["min_amount"].to_string());
            assert_eq!(estimate["below_minimum"], false, "{entry}");
            assert_eq!(estimate["min_amount_usd"], entry["min_amount_usd"]);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_s_minimum_and_switch_apply_to_every_endpoint() {
    with_stack(|stack| async move {
        let mut connection = stack.gateway.db.connection().await.unwrap();
        let price = Decimal::new(12_345, 3);
        currencies::set_min_usd(&mut connection, "usdtmatic@polygon", price).await.unwrap();
        currencies::set_enabled(&mut connection, "pol@polygon", false).await.unwrap();
        currencies::set_enabled(&mut connection, "usdtton@ton", true).await.unwrap();
        drop(connection);

        let entries = detailed(&stack).await;
        let of = |code: &str| entries.iter().find(|entry| entry["code"] == code);
        assert_eq!(of("usdtmatic").unwrap()["min_amount_usd"].to_string(), "12.345");
        assert!(of("pol").is_none() && of("usdtton").is_some());
        let anybody = stack.anybody();
        let minimum = anybody.get("/v1/min-amount?currency_to=usdtmatic").await.json();
        assert_eq!(minimum["min_amount_usd"].to_string(), "12.345");
        assert_eq!(minimum["min_amount"].to_string(), "12.345");
        for (amount, below) in [("12.344999999999999999", true), ("12.345", false)] {
            let path =
                format!("/v1/estimate?amount={amount}&currency_from=usd&currency_to=usdtmatic");
            assert_eq!(anybody.get(&path).await.json()["below_minimum"], below, "{amount}");
        }
        for path in [
            "/v1/min-amount?currency_to=pol",
            "/v1/min-amount?currency_to=matic",
            "/v1/min-amount?currency_to=pol&network=polygon",
            "/v1/estimate?amount=9&currency_from=usd&currency_to=pol",
        ] {
            anybody.get(path).await.expect_error(400, "CURRENCY_NOT_SUPPORTED");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_estimate_is_text_and_knows_the_minimum_only_in_dollars() {
    with_stack(|stack| async move {
        for (query, amount_from, estimated, below) in [
            ("amount=100&currency_from=usd&currency_to=btc", "100", "0.00166667", json!(true)),
            ("amount=250.00&currency_from=USD&currency_to=BTC", "250", "0.00416667", json!(false)),
            ("amount=249.99&currency_from=usd&currency_to=btc", "249.99", "0.0041665", json!(true)),
            ("amount=25&currency_from=eur&currency_to=usdtmatic", "25", "31.25", json!(null)),
            ("amount=10&currency_from=gbp&currency_to=etharb", "10", "0.00444445", json!(null)),
            ("amount=1&currency_from=usd&currency_to=usdt&network=polygon", "1", "1", json!(true)),
            (
                "amount=0.000000000000000001&currency_from=usd&currency_to=eth",
                "0.000000000000000001",
                "0.00000001",
                json!(true),
            ),
        ] {
            let answer = stack.anybody().get(&format!("/v1/estimate?{query}")).await;
            assert_eq!(answer.status, 200, "{query}: {}", answer.body);
            let json = answer.json();
            expect_fields(&json, ESTIMATE);
            assert_eq!(json["amount_from"].to_string(), amount_from, "{query}");
            assert_eq!(json["estimated_amount"], estimated, "{query}");
            assert_eq!(json["below_minimum"], below, "{query}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn min_amount_echoes_what_it_was_asked_and_computes_by_dollars() {
    with_stack(|stack| async move {
        for (query, from, to, amount) in [
            ("currency_to=btc", "usd", "btc", "0.00416667"),
            ("currency_to=btc&currency_from=eur", "eur", "btc", "0.00416667"),
            ("currency_to=btc&currency_from=xyz", "xyz", "btc", "0.00416667"),
            ("currency_to=btc&currency_from=", "usd", "btc", "0.00416667"),
            ("currency_to=etharb", "usd", "etharb", "0.005"),
            ("currency_to=usdt&network=tron", "usd", "usdt", "100"),
        ] {
            let answer = stack.anybody().get(&format!("/v1/min-amount?{query}")).await;
            assert_eq!(answer.status, 200, "{query}: {}", answer.body);
            let json = answer.json();
            expect_fields(&json, MIN_AMOUNT);
            assert_eq!((&json["currency_from"], &json["currency_to"]), (&json!(from), &json!(to)));
            assert_eq!(json["min_amount"].to_string(), amount, "{query}");
            expect_plain(&json["min_amount"].to_string());
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_estimate_and_minimum_queries_are_refused() {
    with_stack(|stack| async move {
        let long = format!("/v1/min-amount?currency_to={}", "x".repeat(256));
        for (path, code) in [
            ("/v1/estimate", "INVALID_REQUEST"),
            ("/v1/estimate?amount=1&currency_from=usd", "INVALID_REQUEST"),
            ("/v1/estimate?amount=1&currency_to=btc", "INVALID_REQUEST"),
            ("/v1/estimate?currency_from=usd&currency_to=btc", "INVALID_REQUEST"),
            ("/v1/estimate?amount=&currency_from=usd&currency_to=btc", "INVALID_REQUEST"),
            ("/v1/estimate?amount=0&currency_from=usd&currency_to=btc", "INVALID_REQUEST"),
            ("/v1/estimate?amount=-0&currency_from=usd&currency_to=btc", "INVALID_REQUEST"),
            ("/v1/estimate?amount=-1&currency_from=usd&currency_to=btc", "INVALID_REQUEST"),
            ("/v1/estimate?amount=NaN&currency_from=usd&currency_to=btc", "INVALID_REQUEST"),
            ("/v1/estimate?amount=1e999&currency_from=usd&currency_to=btc", "INVALID_REQUEST"),
            ("/v1/estimate?amount=1e-400&currency_from=usd&currency_to=btc", "INVALID_REQUEST"),
            ("/v1/estimate?amount=1%00&currency_from=usd&currency_to=btc", "INVALID_REQUEST"),
            ("/v1/estimate?amount=%FF&currency_from=usd&currency_to=btc", "INVALID_REQUEST"),
            ("/v1/estimate?amount=1&currency_from=jpy&currency_to=btc", "INVALID_REQUEST"),
            ("/v1/estimate?amount=1&currency_from=btc&currency_to=btc", "INVALID_REQUEST"),
            ("/v1/estimate?amount=1&currency_from=usd&currency_to=xyz", "CURRENCY_NOT_SUPPORTED"),
            ("/v1/estimate?amount=1&currency_from=usd&currency_to=all", "CURRENCY_NOT_SUPPORTED"),
            ("/v1/estimate?amount=1&currency_from=usd&currency_to=usdt", "CURRENCY_NOT_SUPPORTED"),
            ("/v1/min-amount", "INVALID_REQUEST"),
            ("/v1/min-amount?currency_to=", "INVALID_REQUEST"),
            ("/v1/min-amount?currency_to=b%00tc", "INVALID_REQUEST"),
            (&long, "INVALID_REQUEST"),
            ("/v1/min-amount?currency_to=xyz", "CURRENCY_NOT_SUPPORTED"),
            ("/v1/min-amount?currency_to=usdtnear", "CURRENCY_NOT_SUPPORTED"),
            ("/v1/min-amount?currency_to=usdt&network=moon", "CURRENCY_NOT_SUPPORTED"),
        ] {
            let answer = stack.anybody().get(path).await;
            assert_eq!(answer.status, 400, "{path}: {}", answer.body);
            answer.expect_error(400, code);
            // A message names parameters that this question has.
            for other in ["pay_currency", "price_currency", "price_amount"] {
                assert!(!answer.body.contains(other), "{path}: {}", answer.body);
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_fresh_rate_there_is_no_estimate_but_still_a_minimum() {
    with_stack(|stack| async move {
        let estimate = "/v1/estimate?amount=100&currency_from=usd&currency_to=btc";
        let becomes = async |status: u16| {
            eventually(&format!("an estimate with {status}"), async || {
                (stack.anybody().get(estimate).await.status == status).then_some(())
            })
            .await;
        };
        stack.sql("update rate set observed_at = now() - interval '280 seconds'").await;
        becomes(200).await;
        stack.sql("update rate set observed_at = now() - interval '301 seconds'").await;
        becomes(503).await;
        stack.anybody().get(estimate).await.expect_error(503, "RATE_PROVIDER_DOWN");
        let minimum = stack.anybody().get("/v1/min-amount?currency_to=btc").await;
        assert_eq!(minimum.json()["min_amount"].to_string(), "0.00416667");

        stack.refresh_rates().await;
        becomes(200).await;
        stack.sql("delete from rate where fiat = 'eur'").await;
        let euros = estimate.replace("usd", "eur");
        eventually("no price in euros", async || {
            (stack.anybody().get(&euros).await.status == 503).then_some(())
        })
        .await;
        assert_eq!(stack.anybody().get(estimate).await.status, 200);
    })
    .await;
}
