//! `pay_currency` = `all`: the buyer picks the currency.

use gateway::merchant::settings::Settings;
use serde_json::{Value, json};
use support::server::stack::{Merchant, Stack, with_stack};

use crate::api::{
    order, rows_written,
    shape::{
        ACCEPTED_CURRENCY, NULL_ON_DRAFTS, PAYMENT, expect_fields, expect_payment, expect_plain,
    },
};

async fn shop_accepting(stack: &Stack, tokens: &[&str]) -> Merchant {
    let accepted = Some(tokens.iter().map(|&token| token.to_owned()).collect());
    stack.merchant_with(Settings { accepted, ..Settings::default() }).await
}

fn draft(changes: &Value) -> Value {
    let mut body = order(changes);
    body["pay_currency"] = json!("all");
    body
}

fn id(payment: &Value) -> String {
    payment["payment_id"].as_str().unwrap().to_owned()
}

fn seconds_of_window(payment: &Value) -> i64 {
    let at = |field: &str| {
        chrono::DateTime::parse_from_rfc3339(payment[field].as_str().unwrap()).unwrap()
    };
    (at("expiration_estimate_date") - at("updated_at")).num_seconds()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_has_nulls_and_the_selection_window_and_lists_what_it_may_be_paid_in() {
    with_stack(|stack| async move {
        let tokens = ["btc", "usdtmatic", "eth@arbitrum", "usdterc20"];
        let shop = shop_accepting(&stack, &tokens).await.client;
        let answer = shop.post("/v1/payment", &draft(&json!({"price_amount": 30}))).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        let created = answer.json();
        expect_payment(&created);
        for field in NULL_ON_DRAFTS {
            assert!(created[field].is_null(), "{field}");
        }
        assert_eq!(created["payment_status"], "waiting");
        assert_eq!(created["actually_paid"].to_string(), "0");
        assert_eq!(created["time_limit"], "01:00:00");
        assert_eq!(seconds_of_window(&created), 60 * 60);

        let mut read = shop.get(&format!("/v1/payment/{}", id(&created))).await.json();
        let accepted = read.as_object_mut().unwrap().remove("accepted_currencies").unwrap();
        assert_eq!(read, created);
        let accepted = accepted.as_array().unwrap();
        for entry in accepted {
            expect_fields(entry, ACCEPTED_CURRENCY);
            expect_plain(&entry["estimated_amount"].to_string());
        }
        // 30 USD are below the minimum of bitcoin (250) and of tokens on ethereum (500).
        let expected = json!([
            {"currency": "ETH", "network": "arbitrum", "standard": "native", "estimated_amount": 0.01,
             "min_usd": 15, "token_id": "eth@arbitrum"},
            {"currency": "USDT", "network": "polygon", "standard": "ERC20", "estimated_amount": 30,
             "min_usd": 2, "token_id": "usdtmatic@polygon"},
        ]);
        assert_eq!(Value::Array(accepted.clone()), expected);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_without_an_allowlist_accepts_every_currency_whose_minimum_it_meets() {
    with_stack(|stack| async move {
        let shop = stack.merchant().await.client;
        let currencies = stack.anybody().get("/v1/currencies").await.json();
        for price in [2, 15, 1_000] {
            let created = shop.post("/v1/payment", &draft(&json!({"price_amount": price}))).await;
            let path = format!("/v1/payment/{}", id(&created.json()));
            let accepted = shop.get(&path).await.json()["accepted_currencies"].clone();
            let eligible: Vec<_> = currencies["currencies_detailed"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|entry| entry["min_amount_usd"].as_i64().unwrap() <= price)
                .map(|entry| {
                    let text = |field: &str| entry[field].as_str().unwrap();
                    json!(format!("{}@{}", text("code"), text("chain")))
                })
                .collect();
            let tokens = accepted.as_array().unwrap().iter().map(|entry| entry["token_id"].clone());
            assert_eq!(tokens.collect::<Vec<_>>(), eligible, "{price}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn once_the_buyer_has_picked_a_draft_is_a_normal_invoice_with_the_same_id() {
    with_stack(|stack| async move {
        let shop = shop_accepting(&stack, &["usdtmatic", "pol"]).await.client;
        let body = draft(&json!({"price_currency": "eur", "order_id": "A-7"}));
        let created = shop.post("/v1/payment", &body).await.json();
        let (id, buyer) = (id(&created), stack.buyer());
        let path = format!("/api/pay/{id}/select");
        for refused in [json!({"token_id": "btc@bitcoin"}), json!({"token_id": "usdtmatic"})] {
            buyer.post(&path, &refused).await.expect_error(400, "CURRENCY_NOT_SUPPORTED");
        }
        let chosen = json!({"token_id": "usdtmatic@polygon"});
        let picked = buyer.post(&path, &chosen).await;
        assert_eq!(picked.status, 200, "{}", picked.body);
        buyer
            .post(&path, &json!({"token_id": "pol@polygon"}))
            .await
            .expect_error(400, "INVALID_REQUEST");

        let read = shop.get(&format!("/v1/payment/{id}")).await.json();
        expect_fields(&read, PAYMENT);
        expect_payment(&read);
        assert_eq!(read["payment_id"], created["payment_id"]);
        for (field, value) in [
            ("payment_status", json!("waiting")),
            ("pay_currency", json!("usdtmatic")),
            ("network", json!("polygon")),
            ("network_precision", json!(6)),
            ("price_amount", json!(25)),
            ("price_currency", json!("eur")),
            ("order_id", json!("A-7")),
            ("created_at", created["created_at"].clone()),
            ("time_limit", json!("00:30:00")),
        ] {
            assert_eq!(read[field], value, "{field}");
        }
        assert_eq!(read["pay_amount"].to_string(), "31.25");
        assert!((30 * 60 - 1..=30 * 60).contains(&seconds_of_window(&read)), "{read}");
        let list = shop.get("/v1/payment").await.json();
        assert_eq!(list["data"], json!([read]));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allowlist_that_leaves_nothing_is_no_eligible_currencies() {
    with_stack(|stack| async move {
        let bitcoin = shop_accepting(&stack, &["btc"]).await.client;
        let disabled = shop_accepting(&stack, &["usdtnear"]).await.client;
        let nothing = shop_accepting(&stack, &[]).await.client;
        let anything = stack.merchant().await.client;
        for (shop, price, status) in [
            (&bitcoin, "249.999999999999999999", 422),
            (&bitcoin, "250", 201),
            (&disabled, "1000", 422),
            (&nothing, "1000", 422),
            (&anything, "1.999999999999999999", 422),
            (&anything, "2", 201),
        ] {
            let before = rows_written(&stack).await;
            let body = format!(
                r#"{{"price_amount":{price},"price_currency":"usd","pay_currency":"all"}}"#
            );
            let answer = shop.send(http::Method::POST, "/v1/payment", &body).await;
            assert_eq!(answer.status, status, "{price}: {}", answer.body);
            if status == 422 {
                answer.expect_error(422, "NO_ELIGIBLE_CURRENCIES");
                assert_eq!(rows_written(&stack).await, before);
            }
        }
        for (changes, code) in [
            (json!({"pricing_mode": "direct"}), "INVALID_REQUEST"),
            (json!({"price_currency": "jpy"}), "INVALID_REQUEST"),
            (json!({"price_amount": 0}), "INVALID_REQUEST"),
        ] {
            anything.post("/v1/payment", &draft(&changes)).await.expect_error(400, code);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_allowlist_is_a_snapshot_without_what_is_disabled_since() {
    with_stack(|stack| async move {
        stack.lift_rate_limits().await;
        let shop = shop_accepting(&stack, &["usdtmatic", "pol"]).await;
        let created = shop.client.post("/v1/payment", &draft(&json!({}))).await.json();
        let path = format!("/v1/payment/{}", id(&created));
        stack.sql("update merchant set accepted_tokens = array['btc@bitcoin']").await;
        let accepted = async || shop.client.get(&path).await.json()["accepted_currencies"].clone();
        assert_eq!(accepted().await.as_array().unwrap().len(), 2);
        let mut connection = stack.gateway.db.connection().await.unwrap();
        let disable = gateway::storage::currencies::set_enabled;
        disable(&mut connection, "pol@polygon", false).await.unwrap();
        drop(connection);
        support::server::broker::eventually("one is left", async || {
            let left = accepted().await;
            (left.as_array().unwrap().len() == 1).then_some(())
        })
        .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_currency_without_a_fresh_rate_stays_in_the_draft_and_can_be_chosen_later() {
    with_stack(|stack| async move {
        let shop = shop_accepting(&stack, &["usdtmatic", "eth@arbitrum", "btc"]).await.client;
        let becomes = async |currency: &str, status: u16| {
            let path = format!("/v1/estimate?amount=30&currency_from=usd&currency_to={currency}");
            support::server::broker::eventually(
                &format!("{currency} answers {status}"),
                async || (stack.anybody().get(&path).await.status == status).then_some(()),
            )
            .await;
        };
        stack.sql("delete from rate where upper(symbol) = 'ETH'").await;
        becomes("etharb", 503).await;
        let created = shop.post("/v1/payment", &draft(&json!({"price_amount": 30}))).await;
        assert_eq!(created.status, 201, "{}", created.body);
        let id = id(&created.json());
        let read = shop.get(&format!("/v1/payment/{id}")).await.json();
        let listed: Vec<_> = read["accepted_currencies"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| (entry["token_id"].clone(), entry["estimated_amount"].is_null()))
            .collect();
        // Bitcoin has a rate, and 30 USD are below its minimum.
        assert_eq!(listed, [(json!("eth@arbitrum"), true), (json!("usdtmatic@polygon"), false)]);
        let path = format!("/api/pay/{id}/select");
        let chosen = json!({"token_id": "eth@arbitrum"});
        let early = stack.buyer().post(&path, &chosen).await;
        early.expect_error(503, "RATE_PROVIDER_DOWN");
        stack.refresh_rates().await;
        becomes("etharb", 200).await;
        let picked = stack.buyer().post(&path, &chosen).await;
        assert_eq!(picked.status, 200, "{}", picked.body);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_is_refused_as_retryable_while_some_currency_cannot_be_priced() {
    with_stack(|stack| async move {
        let both = shop_accepting(&stack, &["eth@arbitrum", "btc"]).await.client;
        let bitcoin = shop_accepting(&stack, &["btc"]).await.client;
        let asked = draft(&json!({"price_amount": 30}));
        // Bitcoin is judged, ether cannot be.
        stack.sql("delete from rate where upper(symbol) = 'ETH'").await;
        let becomes = async |client: &support::client::Client, status: u16| {
            support::server::broker::eventually(&format!("a draft answers {status}"), async || {
                let answer = client.post("/v1/payment", &asked).await;
                (answer.status == status).then_some(answer)
            })
            .await
        };
        stack.lift_rate_limits().await;
        becomes(&both, 503).await.expect_error(503, "RATE_PROVIDER_DOWN");
        becomes(&bitcoin, 422).await.expect_error(422, "NO_ELIGIBLE_CURRENCIES");
        stack.sql("delete from rate").await;
        becomes(&bitcoin, 503).await.expect_error(503, "RATE_PROVIDER_DOWN");
        becomes(&both, 503).await.expect_error(503, "RATE_PROVIDER_DOWN");
    })
    .await;
}
